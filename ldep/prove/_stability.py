"""The share of the training rows whose class no change of some columns within stated amounts can flip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ldep.answers import TableModel
from ldep.explain import Deadline
from ldep.model import class_numbers
from ldep.prove._cases import MARGIN, Subject, Verdict, rows_of, take
from ldep.prove._certificate import Inputs, Question, condition, feature, numbers_of, written
from ldep.prove._search import Search
from ldep.prove._space import Space

# Random rows from which the search for a change of one row starts.
FEW_STARTS = 20


def stable(
    subject: Subject, content: Mapping[str, Any], deadline: Deadline, verdict: Verdict, X: Any, model: Any
) -> Verdict:
    within, share = take(content, "stable", "within", "share")
    if not isinstance(within, Mapping) or not within:
        raise ValueError("stable needs within, such as {age: 1}.")
    share = 1.0 if share is None else share
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share <= 1:
        raise ValueError(f"share is {share!r}; it must be above 0 and at most 1.")
    for name, amount in within.items():
        subject.space.number(name)
        if isinstance(amount, bool) or not isinstance(amount, (int, float)) or not amount > 0:
            raise ValueError(f"within says {amount!r} about '{name}'; it must be a positive number.")
    n, space = subject.model.n_classes, subject.space
    matrix = model.encoder.transform(X) if isinstance(model, TableModel) else rows_of(model, X)
    scaling = space.scalings[0]
    if isinstance(model, TableModel):
        matrix = np.where(np.isnan(matrix), model.raw.fill, matrix)
    elif np.isnan(matrix).any():
        raise ValueError("stable is not examined for rows with missing values.")
    labels = class_numbers(subject.model.decision((matrix - scaling.mean) / scaling.scale))
    # Every feature is an input here: rows keep all of them, apart from the numbers that change.
    question = Question([numbers_of(subject.model)], Inputs())
    for j in range(matrix.shape[1]):
        question.inputs.add(f"feature {j}", float(matrix[:, j].min()) - _reach(space, within, j),
                            float(matrix[:, j].max()) + _reach(space, within, j))  # fmt: skip
    scaled = [feature([(j, 1.0)], -scaling.mean[j], scaling.scale[j]) for j in range(matrix.shape[1])]
    question.add_copy(0, scaled)
    problem, claims, n_stable, open_rows = question.problem(), [], 0, 0
    reach = np.array([_reach(space, within, j) for j in range(matrix.shape[1])])
    distinct, counts = np.unique(np.column_stack([matrix, labels]), axis=0, return_counts=True)
    for row, count in zip(distinct, counts):
        x, label = row[:-1], int(row[-1])
        ranges = [[j, float(x[j] - reach[j]), float(x[j] + reach[j])] for j in range(len(x))]
        proofs = []
        for rival in [k for k in range(n) if k != label]:
            claim = {
                "claim": f"{subject.classes[rival]} never leads over {subject.classes[label]} around a row",
                "conditions": [condition([(0, rival, 1.0), (0, label, -1.0)])],
                "ranges": ranges,
            }
            search = Search(problem, claim, deadline, n_starts=FEW_STARTS)
            if deadline.left > 0:
                search.decide(MARGIN)
            if not search.excluded:
                break
            bound = search.exact_bound()
            if not search.excluded:
                break
            proofs.append({**claim, "bound": written(bound) if bound is not None else 0, "tree": search.tree})
        if len(proofs) == n - 1:
            n_stable += int(count)
            claims += proofs
        elif not search.above:
            open_rows += int(count)
    verdict.share = n_stable / len(matrix)
    verdict.kept = verdict.share >= share
    verdict.decided = verdict.kept or (n_stable + open_rows) / len(matrix) < share
    amounts = ", ".join(f"{name} by {amount:g}" for name, amount in within.items())
    verdict.why = (
        f"{n_stable} of {len(matrix)} rows ({100 * verdict.share:.1f} %) keep their class whatever changes {amounts}"
    )
    if open_rows:
        verdict.why += f"; {open_rows} rows were not decided in time"
    verdict.certificate = {**question.to_json(), "claims": claims}
    return verdict


def _reach(space: Space, within: Mapping[str, float], j: int) -> float:
    for name, amount in within.items():
        if j == space.column(name).features[0][0]:
            return float(amount)
    return 0.0
