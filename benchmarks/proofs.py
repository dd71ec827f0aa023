"""Proofs: are promises decided and decided rightly, are differences largest, and does the verifier notice changes?

The models are generated: normal slopes, 3 to 6 features, 2 to 5 pieces per maximum, two or three classes; every fourth
one is a vote of two members. A violation counts as planted if random rows show it. CPU time is measured.
"""

from __future__ import annotations

import copy
import json
import time
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from benchmarks.report import Report
from ldep.explain import Deadline
from ldep.model import FittedModel, Maxima, class_numbers, unfolded
from ldep.prove import Search, difference, promise, verify
from ldep.solvers import single_thread

MODELS, PAIRS, CERTIFICATES = 200, 100, 1000
SECONDS = 10.0
SAMPLE = 20_000
KINDS = ("never_changes", "monotone", "range", "agree_with")


class Generated:
    """An estimator around a fitted model that was not trained."""

    def __init__(self, model: FittedModel):
        self.model_, self.n_features_in_ = model, model.n_features
        self.classes_ = np.arange(model.n_classes)

    def numbers(self, X: Any) -> np.ndarray:
        return class_numbers(self.model_.decision(np.asarray(X, dtype=float)))

    def lead(self, X: Any) -> np.ndarray:
        """What is bounded: tau, or the lead of the last class over the first one."""
        columns = unfolded(self.model_.decision(np.asarray(X, dtype=float)))
        return columns[:, -1] - columns[:, 0]


def generated(rng: np.random.Generator, classes: int, members: int, column: str = "free") -> FittedModel:
    """A random model; it does not depend on its first feature, or rises with it, if `column` says so."""
    n, made = int(rng.integers(3, 7)), []
    pieces = int(rng.integers(2, 6 if members == 1 else 4))
    for _ in range(members):
        count = 2 if classes == 2 else 2 * classes
        signs = np.eye(2) if classes == 2 else np.hstack([np.eye(classes), -np.eye(classes)])
        direction = signs[-1] - signs[0]
        slopes = [rng.normal(size=(pieces, n)) for _ in range(count)]
        for own, sign in zip(slopes, direction):
            if column == "none":
                own[:, 0] = 0.0
            elif column == "rising":
                own[:, 0] = np.abs(own[:, 0]) * np.sign(sign)
        offsets = [rng.normal(size=pieces) for _ in range(count)]
        member = Maxima(slopes, offsets, offsets, np.zeros(n), signs)
        made.append(member.scaled(0.3) if members > 1 else member)
    return FittedModel.of(made, np.full(members, 1.0 / members), votes=members > 1)


def problem(seed: int, planted: bool) -> tuple[str, Generated, Generated | None, np.ndarray, dict[str, Any]]:
    """A promise about a model, which random rows break if a violation is planted."""
    for attempt in range(1000):
        rng = np.random.default_rng([seed, planted, attempt])
        kind = KINDS[seed % 4]
        classes, members = (3, 1) if seed % 3 == 0 and kind != "range" else (2, 2 if seed % 4 == seed % 16 // 4 else 1)
        if classes == 3 and kind == "monotone":
            classes = 2
        column = "free" if planted else {"never_changes": "none", "monotone": "rising"}.get(kind, "free")
        model = Generated(generated(rng, classes, members, column))
        X = rng.uniform(-1.0, 1.0, (40, model.n_features_in_))
        sample = rng.uniform(X.min(axis=0), X.max(axis=0), (SAMPLE, X.shape[1]))
        moved = sample.copy()
        moved[:, 0] = rng.uniform(sample[:, 0], X[:, 0].max())
        values = model.lead(sample)
        if kind == "never_changes":
            broken = (model.numbers(sample) != model.numbers(moved)).any()
            stated: dict[str, Any] = {"column": "x0"}
        elif kind == "monotone":
            broken = (model.lead(moved) < values - 1e-3).any()
            stated = {"x0": "up"}
        elif kind == "range":
            spread = np.ptp(values)
            top = values.max() - 0.05 * spread if planted else 1e3
            broken, stated = (values > top).any(), {"decision": [-1e3, float(top)]}
        else:
            other = bumped(model.model_, X, 1.0 if planted else 0.0, rng)
            broken = (np.abs(other.lead(sample) - values) > 0.2).any() if classes == 2 else planted
            stated = {"within": 0.2}
            if broken == planted:
                return kind, model, other, X, stated
            continue
        if broken == planted:
            return kind, model, None, X, stated
    raise RuntimeError("no problem of this kind was drawn")


def bumped(model: FittedModel, X: np.ndarray, height: float, rng: np.random.Generator) -> Generated:
    """The same model, but for a piece that rises above the others around a corner of the ranges."""
    member, corner = model.members[0], np.where(rng.random(X.shape[1]) < 0.5, X.min(axis=0), X.max(axis=0))
    g = int(np.flatnonzero(member.signs[-1] > 0)[0])
    slope = np.sign(corner) * 3.0
    highest = member.values(corner[None])[g][0].max()
    offset = highest + (height if height else -100.0) - slope @ (corner - member.center)
    slopes, offsets = list(member.slopes), list(member.offsets)
    slopes[g], offsets[g] = np.vstack([slopes[g], slope]), np.append(offsets[g], offset)
    first = Maxima(slopes, offsets, offsets, member.center, member.signs)
    return Generated(FittedModel.of([first, *model.members[1:]], model.weights, votes=model.votes))


def violates(kind: str, model: Generated, other: Generated | None, stated: dict, rows: list[dict]) -> bool:
    """Whether the shown rows break the promise, as the model itself answers them."""
    X = [list(row.values()) for row in rows]
    if kind == "never_changes":
        return len(set(model.numbers(X))) == 2 and (np.ptp(X, axis=0)[1:] == 0).all()
    if kind == "monotone":
        first, second = model.lead(X)
        return X[0][0] < X[1][0] and first > second
    if kind == "range":
        return not stated["decision"][0] <= model.lead(X)[0] <= stated["decision"][1]
    assert other is not None
    values = [unfolded(part.model_.decision(np.array(X))) for part in (model, other)]
    factor = 2.0 if model.model_.n_classes == 2 else 1.0
    return bool((factor * np.abs(values[0] - values[1]) > stated["within"]).any())


def promises(planted: bool, certificates: list[dict[str, Any]]) -> pd.DataFrame:
    found = []
    for seed in tqdm(range(MODELS), desc="planted" if planted else "kept", disable=None):
        kind, model, other, X, stated = problem(seed, planted)
        start = time.process_time()
        verdict = promise(model, X, seconds=SECONDS, other=other, **{kind: stated})
        seconds = time.process_time() - start
        right = verdict.kept != planted or not verdict.decided
        if planted and verdict.decided and not verdict.kept:
            right = violates(kind, model, other, stated, verdict.rows)
        if verdict.kept and verdict.certificate is not None:
            certificates += [{**verdict.certificate, "claims": [c]} for c in verdict.certificate["claims"]]
        members = len(model.model_.members)
        found.append({"promise": kind, "classes": model.model_.n_classes, "members": members, "planted": planted,
                      "decided": verdict.decided, "right": right, "seconds": seconds})  # fmt: skip
    return pd.DataFrame(found)


def differences() -> pd.DataFrame:
    found = []
    for seed in tqdm(range(PAIRS), desc="differences", disable=None):
        rng = np.random.default_rng([seed, 7])
        model = Generated(generated(rng, 2, 1))
        X = rng.uniform(-1.0, 1.0, (40, model.n_features_in_))
        other = bumped(model.model_, X, 1.0, rng)
        start = time.process_time()
        result = difference(model, other, X, seconds=SECONDS)
        up, down = result.extremes
        sample = rng.uniform(X.min(axis=0), X.max(axis=0), (SAMPLE, X.shape[1]))
        most = (other.lead(sample) - model.lead(sample)).max()
        row = [list(up.row.values())]
        shown = float((other.lead(row) - model.lead(row))[0])
        found.append({"found": shown, "bound": up.bound, "largest of random rows": most, "other way": down.bound,
                      "seconds": time.process_time() - start})  # fmt: skip
    return pd.DataFrame(found)


def _holds(certificate: dict) -> bool:
    return all(holds for holds, _ in verify.check(certificate))


def stable_claims(certificates: list[dict[str, Any]]) -> None:
    """Fill up with certificates of single rows."""
    for seed in range(1000):
        if len(certificates) >= CERTIFICATES:
            return
        rng = np.random.default_rng([seed, 9])
        model = Generated(generated(rng, 2, 1))
        X = rng.uniform(-1.0, 1.0, (40, model.n_features_in_))
        verdict = promise(model, X, stable={"within": {"x0": 0.2}, "share": 0.01})
        assert verdict.certificate is not None
        certificates += [{**verdict.certificate, "claims": [c]} for c in verdict.certificate["claims"]]


def numbers_in(value: Any, path: tuple = ()) -> list[tuple]:
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, (int, float)):
        return [path]
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    return [found for key, entry in entries for found in numbers_in(entry, (*path, key))]


def changed(certificate: dict[str, Any], rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """The certificate with one number changed, and the part that it is in."""
    twin = copy.deepcopy(certificate)
    if rng.random() < 0.2:
        bound = verify.exact(twin["claims"][0]["bound"])
        twin["claims"][0]["bound"] = str(bound - abs(bound) * verify.Fraction(float(rng.uniform(1e-6, 1.0))))
        return "bound", twin
    paths = numbers_in(twin)
    path = paths[int(rng.integers(len(paths)))]
    entry: Any = twin
    for key in path[:-1]:
        entry = entry[key]
    old = entry[path[-1]]
    entry[path[-1]] = (
        old + int(rng.choice([-1, 1])) if isinstance(old, int) else old + float(rng.normal()) * (abs(old) + 0.1)
    )
    names = [key for key in path if isinstance(key, str)]
    return "tree" if "tree" in names else names[-1] if names[0] == "claims" else names[0], twin


def is_false(certificate: dict[str, Any]) -> bool:
    """Whether a row contradicts the claim as it is stated."""
    claim = certificate["claims"][0]
    search = Search(verify.Problem(certificate), claim, Deadline.after(5.0))
    search.largest(1e-6)
    return search.best > float(verify.exact(claim["bound"])) + 1e-9 * (1.0 + abs(search.best))


def tampered(certificates: list[dict[str, Any]]) -> pd.DataFrame:
    rng, counts = np.random.default_rng(0), Counter[tuple[str, str]]()
    for number in tqdm(range(CERTIFICATES), desc="changed", disable=None):
        certificate = certificates[number % len(certificates)]
        part, twin = changed(certificate, rng)
        if part == "models":
            outcome = "refused" if twin["models"] != certificate["models"] else "accepted, true"
        else:
            try:
                outcome = "accepted" if _holds(twin) else "refused"
            except verify.DAMAGED:
                outcome = "refused"
            if outcome == "accepted":
                outcome = "accepted, false" if is_false(twin) else "accepted, true"
        counts[part, outcome] += 1
    rows = [{"changed": part, "outcome": outcome, "certificates": n} for (part, outcome), n in sorted(counts.items())]
    return pd.DataFrame(rows)


def run() -> Report:
    report = Report("proofs", "Promises, differences and certificates")
    certificates: list[dict[str, Any]] = []
    with single_thread():
        table = pd.concat([promises(planted, certificates) for planted in (True, False)])
        summary = table.groupby(["promise", "classes", "members", "planted"]).agg(
            models=("right", "size"), decided=("decided", "sum"), right=("right", "sum"),
            median_seconds=("seconds", "median"), longest_seconds=("seconds", "max"))  # fmt: skip
        report.table("promises", summary.reset_index())
        wrong = int((~table["right"]).sum())
        report.claim("promises that were decided wrongly, of 400", wrong, "0", wrong == 0)
        decided = 100.0 * float(table["decided"].mean())
        report.claim("promises decided within 10 s, %", decided, ">= 95", decided >= 95)
        pairs = differences()
        report.table("differences", pairs.describe().reset_index())
        missed = int((pairs["found"] < 1.0 - 1e-6).sum())
        report.claim("planted differences that were not found, of 100", missed, "0", missed == 0)
        gap = float((pairs["bound"] - pairs["found"]).max())
        report.claim("largest distance of the proven bound from the shown row", gap, "<= 1e-4", gap <= 1e-4)
        beyond = int((pairs["largest of random rows"] > pairs["bound"]).sum())
        report.claim("random rows beyond the stated maximum", beyond, "0", beyond == 0)
        stable_claims(certificates)
        chosen = [json.loads(json.dumps(certificate)) for certificate in certificates[:CERTIFICATES]]
        start = time.process_time()
        accepted = sum(_holds(certificate) for certificate in chosen)
        seconds = (time.process_time() - start) / len(chosen)
        report.claim(f"certificates accepted, of {len(chosen)}", accepted, str(len(chosen)), accepted == len(chosen))
        report.claim("CPU seconds of the verifier per certificate", seconds, "", True)
        outcomes = tampered(chosen)
        report.table("changed", outcomes)
        false = int(outcomes[outcomes["outcome"] == "accepted, false"]["certificates"].sum())
        report.claim("changed certificates with a false claim that were accepted", false, "0", false == 0)
    report.note(
        "A changed number matters if it makes the claim false. Where it is a multiplier, the verifier derives a bound "
        "anew: it refuses the certificate or the claim is proven all the same. Numbers of a model are compared with "
        "the file of the model."
    )
    return report
