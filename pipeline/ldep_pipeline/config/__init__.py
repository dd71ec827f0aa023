"""The configuration: params.yaml, the catalogue of data sets, and the locations of files."""
