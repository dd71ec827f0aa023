"""The package itself: what it imports, its version, its types."""

import subprocess
import sys
from importlib import resources

import ldep


def test_the_library_imports_neither_the_pipeline_nor_dccp():
    """DCCP, which is under the GPL, is only for those who ask for its solver."""
    heavy = {"dvc", "mlflow", "pipeline", "dccp", "cvxpy", "mosek", "openml", "optuna"}
    code = f"import sys, ldep; print(sorted({heavy!r} & {{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_has_three_numbers():
    assert [part.isdigit() for part in ldep.__version__.split(".")] == [True] * 3


def test_type_checkers_are_told_that_the_package_is_typed():
    assert resources.files("ldep").joinpath("py.typed").is_file()
