"""MLflow tracking: the connection, the runs of a data set, and what each run contains."""
