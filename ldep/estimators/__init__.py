"""scikit-learn estimators around the training problem."""
