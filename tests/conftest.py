"""Settings of all tests."""

import os

# scikit-learn's check of array-API input runs only when scipy was imported with this set.
os.environ["SCIPY_ARRAY_API"] = "1"

from hypothesis import settings

# A busy machine is no counterexample.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
