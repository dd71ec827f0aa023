"""Benchmarks, against competitors and of the pipeline itself: `make bench`, or `python -m benchmarks NAME ...`."""
