"""Run benchmarks by name, or all of them, and write reports/bench/."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

BENCHMARKS = {
    "solvers": "objectives of anneal, ccp and dccp on seeded problems (2 minutes)",
    "defaults": "the development collection: defaults compared with seven competitors (two hours)",
    "rare": "average precision on ten tables with 1 to 5 % positives (10 minutes)",
    "large": "100,000 and 1,000,000 rows; six classes with 20,000 rows (5 minutes)",
    "search": "Optuna compared with random search and a fixed list of settings (half an hour)",
    "fit_time": "fit time compared with the MLP on the 30 data sets (5 minutes)",
    "multiclass": "accuracy and time with 3 to 26 classes, compared with one-versus-rest and the MLP (8 minutes)",
    "dccp": "time and hinge loss compared with CVXPY + DCCP (5 minutes)",
    "scaling": "growth of fit time with rows and pieces; time of predict (2 minutes)",
    "export": "ONNX and C compared with Python on raw rows; latency of one row (15 minutes)",
    "streaming": "ten million rows in bounded memory, compared with a fit in memory (10 minutes)",
    "scale": "cost of a fit by its size; cost of tracking and DVC as a suite grows (15 minutes)",
    "morpho": "time and accuracy compared with sklearn-morpho (half an hour)",
    "serving": "latency, load and batch scoring of a served model (15 minutes)",
    "deployment": "200 clients while the champion changes ten times; requests without a valid token (5 minutes)",
    "decisions": "what is crowned on 60 generated tables: noise, rare classes, dates, groups and text (10 minutes)",
    "new_tables": "champions on five kinds of own table, compared with quick baselines (15 minutes)",
    "estimates": "announced and real times of training on ten generated tables (15 minutes)",
    "outcomes": "intervals, estimates and verdicts of `ldep evaluate` on twelve real data sets (10 minutes)",
    "dask": "two Dask workers compared with two local processes on the data sets of params.yaml (15 minutes)",
    "tracking": "cost of tracking in MLflow on the data sets of params.yaml (10 minutes)",
    "estimators": "accuracy, time and probabilities with defaults, compared with eight others (half an hour)",
    "exact": "exact answers: counterfactuals, certificates, attributions (10 minutes)",
    "proofs": "promises on 400 generated models, differences of 100 pairs, 2,000 certificates (10 minutes)",
    "recourse": "answers under constraints, compared with HiGHS, SCIP, treecf and DiCE (half an hour)",
    "encoding": "encoding of own data compared with ordinal codes on ten tables with nominal columns (3 minutes)",
    "texts": "columns of prose compared with TF-IDF and logistic regression on nine tables (2 minutes)",
    "sets": "coverage and size of prediction sets beside MAPIE's; attacks within a radius (10 minutes)",
    "grid": "accuracy on the paper's 30 data sets with one grid (half an hour)",
    "protocol": "data and folds of the 30 data sets, checked against the paper's SVC columns (2 minutes)",
}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"  {name:19} {text}" for name, text in BENCHMARKS.items())
        + "\n\nThe 30 data sets come from OpenML, or from its cache if OPENML_CACHE_DIR is set.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark to run (default: all)")
    parser.add_argument("--seeds", type=int, default=1, help="seeds of LDEPClassifierCV in estimators (default: 1)")
    parser.add_argument("--classes", type=int, choices=(2, 3, 5), help="measure only these problems in defaults")
    parser.add_argument("--models", metavar="A,B", help="measure only these models in defaults and rare")
    parser.add_argument("--cells", type=Path, metavar="FILE", help="where defaults or rare keep what is measured")
    parser.add_argument("--jobs", type=int, default=1, help="processes of defaults and rare (default: 1)")
    arguments = parser.parse_args()
    names = arguments.names or list(BENCHMARKS)
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    for name in names:
        module = importlib.import_module(f"benchmarks.{name}")
        options: dict[str, Any] = {"seeds": arguments.seeds} if name == "estimators" else {}
        if name in ("defaults", "rare"):
            options["n_jobs"] = arguments.jobs
            if arguments.cells:
                options["cells"] = arguments.cells
            if arguments.models:
                options["models"] = tuple(arguments.models.split(","))
                other = sorted(set(options["models"]) - set(module.MODELS))
                if other:
                    parser.error(f"{name} has no model {other[0]!r}; there are {', '.join(module.MODELS)}")
        if name == "defaults" and arguments.classes:
            options["classes"] = (arguments.classes,)
        module.run(**options).write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
