"""One module per stage of dvc.yaml: check, fetch, impute, split, train, register, report."""
