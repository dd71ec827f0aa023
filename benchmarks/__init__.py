"""Measurements against the competitors: `make bench`, or `python -m benchmarks NAME ...`."""
