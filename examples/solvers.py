"""Compare annealing with the convex-concave procedure: the objective over time, for four random starts per solver.

`ccp` never increases the objective and stops at a local minimum that depends on its start; kicks take it further.
`anneal` minimises a smoothed problem, so the exact objective, which is only logged, may increase while it cools.

    python examples/solvers.py [PICTURE]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from ldep import LDEPClassifier

PICTURE = Path(__file__).parents[1] / "docs/images/solvers.png"
SOLVERS = {
    "ccp, with kicks": ("ccp", {"n_kicks": 8}, "#2f8f5b"),
    "ccp, without kicks": ("ccp", {"n_kicks": 0}, "#1f5fa8"),
    "anneal": ("anneal", None, "#c2571a"),
}
STARTS = 4


def main(picture: Path = PICTURE) -> None:
    X, y = make_moons(250, noise=0.3, random_state=0)
    figure, panel = plt.subplots(figsize=(7.5, 4), layout="constrained")
    for name, (solver, options, colour) in SOLVERS.items():
        models = [
            LDEPClassifier(
                5,
                5,
                loss="hinge",
                alpha=0.1,
                solver=solver,
                solver_options=options,
                init="random",
                n_init=1,
                random_state=seed,
            ).fit(X, y)
            for seed in range(STARTS)
        ]
        for number, model in enumerate(models):
            seconds, objective = model.history_["seconds"], model.history_["objective"]
            panel.plot(seconds, objective, color=colour, linewidth=1, label=name if number == 0 else None)
            panel.plot(seconds[-1], model.objective_, "o", color=colour, markersize=4)
        ends = [model.objective_ for model in models]
        spent = np.mean([model.history_["seconds"][-1] for model in models])
        print(f"{name}: F from {min(ends):.1f} to {max(ends):.1f}, {spent:.2f} s per start")
    panel.set(xscale="log", xlabel="seconds", ylabel="objective F", title="250 rows, r1 = r2 = 5, α = 0.1")
    panel.legend(frameon=False)
    panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
