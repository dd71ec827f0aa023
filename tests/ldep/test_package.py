"""The package itself: what it imports, its version, its types."""

import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

import ldep


def test_the_library_imports_neither_the_pipeline_nor_dccp():
    """DCCP, which is under the GPL, is only for those who ask for its solver."""
    heavy = {"dvc", "mlflow", "ldep_pipeline", "dccp", "cvxpy", "mosek", "openml", "optuna"}
    code = f"import sys, ldep; print(sorted({heavy!r} & {{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_front_door_is_light():
    """The stages of the pipeline that only read tables need neither SciPy nor scikit-learn, which load slowly."""
    code = "import sys, ldep, ldep.table; print(sorted({'scipy', 'sklearn'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_packages_are_found_without_an_import_of_their_own():
    names = [path.parent.name for path in Path(ldep.__file__).parent.glob("*/__init__.py")]
    assert {getattr(ldep, name).__name__ for name in names if not name.startswith("_")} == {
        f"ldep.{name}" for name in ldep.PACKAGES
    }
    with pytest.raises(AttributeError, match="no attribute 'cells'"):
        ldep.cells  # noqa: B018


def test_the_version_has_three_numbers():
    assert [part.isdigit() for part in ldep.__version__.split(".")] == [True] * 3


def test_type_checkers_are_told_that_the_package_is_typed():
    assert resources.files("ldep").joinpath("py.typed").is_file()


ROOT = Path(__file__).parents[2]
FILE_OF_A_PACKAGE = re.compile(r"\s*(?:from|import) ldep\.(\w+)\._\w+")


def private_imports(folder: Path) -> list[tuple[Path, str]]:
    """Imports of private files of ldep, with the package that each belongs to."""
    lines = [(path, line) for path in folder.rglob("*.py") for line in path.read_text(encoding="utf-8").splitlines()]
    return [(path.relative_to(ROOT), found[1]) for path, line in lines if (found := FILE_OF_A_PACKAGE.match(line))]


def test_the_packages_are_the_api_inside_the_library_too():
    inside = private_imports(ROOT / "ldep")
    assert inside
    assert [path for path, package in inside if path.parts[1] != package] == []


@pytest.mark.parametrize("folder", ["pipeline", "benchmarks", "examples", "tools", "tests/support"])
def test_nothing_outside_imports_a_private_file(folder):
    """Except the unit tests of these files."""
    assert private_imports(ROOT / folder) == []


def test_classes_that_are_stored_name_no_file():
    names = (*ldep.__all__, "VoteEnsemble")
    stored = [getattr(ldep.estimators, name) for name in names] + [ldep.model.FittedModel, ldep.model.Maxima]
    stored += [ldep.model.Link, ldep.model.Missing]
    assert {kind.__module__ for kind in stored} == {"ldep.estimators", "ldep.model"}
    assert len(ldep.__all__) == 8
