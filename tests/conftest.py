"""Settings of all tests."""

import os

# scikit-learn's check of array-API input runs only when scipy was imported with this set.
os.environ["SCIPY_ARRAY_API"] = "1"

import pytest
from hypothesis import settings

# A busy machine is no counterexample.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def no_store_is_left_behind():
    """MLflow writes the store that it is told into the environment: the next test would take it for the user's."""
    yield
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_ID"):
        os.environ.pop(name, None)
