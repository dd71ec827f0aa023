"""One file per competitor, with a function `make()` that returns an unfitted scikit-learn classifier."""
