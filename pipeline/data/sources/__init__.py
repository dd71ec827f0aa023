"""Where a data set can come from. Each module returns it as a table, with its provenance."""
