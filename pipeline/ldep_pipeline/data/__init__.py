"""Data sets: their sources, the files they are read from, and where they came from."""
