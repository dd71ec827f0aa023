"""One file a competitor: a function `make()` that returns an unfitted scikit-learn classifier."""
