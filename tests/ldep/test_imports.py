"""What `import ldep` brings along, and what it must not."""

import subprocess
import sys


def test_the_library_stands_alone():
    """No pipeline, no tracking; and DCCP, which is under the GPL, only for those who ask for its solver."""
    heavy = {"dvc", "mlflow", "pipeline", "dccp", "cvxpy", "mosek", "openml", "optuna"}
    code = f"import sys, ldep; print(sorted({heavy!r} & {{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
