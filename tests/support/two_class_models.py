"""Models with two classes whose numbers are stored, so that a change of the code which changes them is noticed.

`python -m tests.support.two_class_models` trains them again and writes the file. Do that only when a change is meant to
alter the models, and say why in its commit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from sklearn.datasets import make_moons
from threadpoolctl import threadpool_info

from ldep import LDEPClassifier, StreamingLDEPClassifier

STORED = Path(__file__).parent / "two_class_models.json"

EXPLICIT: dict[str, Any] = {"loss": "hinge", "init": "auto", "n_init": 2, "tol": 1e-3, "random_state": 0}
CASES: dict[str, Any] = {
    "anneal": LDEPClassifier(4, 3, alpha=0.1, penalty="norm", solver="anneal", **EXPLICIT),
    "anneal, no penalty": LDEPClassifier(3, 5, alpha=0.0, penalty="norm", solver="anneal", **EXPLICIT),
    "anneal, variance": LDEPClassifier(
        10, 10, alpha=1.0, penalty="variance", solver="anneal", class_weight="balanced", **EXPLICIT
    ),
    "anneal, polished": LDEPClassifier(
        2, 3, alpha=0.5, penalty="norm", solver="anneal", solver_options={"polish": True}, **EXPLICIT
    ),
    "one piece each": LDEPClassifier(1, 1, alpha=0.5, penalty="norm", solver="anneal", **EXPLICIT),
    "several chunks": LDEPClassifier(3, 3, alpha=1.0, penalty="norm", solver="anneal", **EXPLICIT),
    "ccp": LDEPClassifier(3, 2, alpha=0.2, penalty="norm", solver="ccp", **EXPLICIT),
    "ccp by HiGHS": LDEPClassifier(
        2, 2, alpha=0.0, penalty="norm", solver="ccp", solver_options={"engine": "highs", "n_kicks": 0}, **EXPLICIT
    ),
    "streaming": StreamingLDEPClassifier(3, 2, alpha=0.5, penalty="norm", sample_size=60, max_iter=100, **EXPLICIT),
}
# More rows than the solvers take at a time; 150 in the other cases.
ROWS = {"several chunks": 6000}


def train(name: str) -> dict[str, Any]:
    """Train the model of a case, and return its objective and its decision values on some rows."""
    X, y = make_moons(ROWS.get(name, 150), noise=0.35, random_state=3)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=len(X))]) @ [[2, 0.1, 0], [0, 1, 0], [0, 0.2, 0.7]]
    model = CASES[name].fit(X, np.where(y == 1, "yes", "no"))
    return {"objective": float(model.objective_), "tau": model.decision_function(X[::30][:6]).tolist()}


def environment() -> dict[str, str]:
    """What else decides the last bits: the numerical libraries, and the kernels that they choose for the processor."""
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    kernels = sorted({f"{blas['internal_api']} {blas['version']} {blas['architecture']}" for blas in libraries})
    return {"numpy": np.__version__, "scipy": scipy.__version__, "kernels": ", ".join(kernels)}


if __name__ == "__main__":
    models = {name: train(name) for name in CASES}
    STORED.write_text(json.dumps({"environment": environment(), "models": models}, indent=2) + "\n")
