"""Settings of all tests."""

import os
from collections.abc import Iterator

# scikit-learn's check of array-API input runs only when scipy was imported with this set.
os.environ["SCIPY_ARRAY_API"] = "1"

import pytest
from hypothesis import settings

try:
    from ldep_pipeline.common.startup import use_common_kernels
except ImportError:  # the tests of the library run without the pipeline
    pass
else:
    # Before NumPy is loaded: some tests compare bits with those of a command.
    use_common_kernels()

# The longest files, the longest first. `make test` gives whole files to two processes; a long one that came last would
# keep one of them waiting.
LONGEST = (
    "tests/pipeline/stages/test_end_to_end.py",
    "tests/pipeline/server/test_server.py",
    "tests/pipeline/registry/test_download.py",
    "tests/docs/test_extending.py",
    "tests/pipeline/execution/test_kill.py",
    "tests/ldep/estimators/test_scikit_learn_contract.py",
    "tests/faults/test_sample.py",
    "tests/docs/test_examples.py",
    "tests/pipeline/execution/test_dask_cluster.py",
    "tests/pipeline/stages/test_train.py",
    "tests/pipeline/stages/test_report.py",
    "tests/pipeline/tracking/test_patience.py",
)

# A busy machine is no counterexample.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-images",
        action="store_true",
        help="write the screenshots of the MLflow UI into docs/images/ (make ui-test IMAGES=1)",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))


@pytest.fixture(autouse=True)
def forget_the_tracking_store() -> Iterator[None]:
    """Remove what MLflow writes into the environment: the next test would use it as the user's choice of a store."""
    yield
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_ID"):
        os.environ.pop(name, None)
