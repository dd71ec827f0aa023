"""Stage report: the paper's table of our results, the tests, the pictures, and one page with all of it."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from pipeline.common import machine
from pipeline.common.digests import digest, file_digest
from pipeline.common.files import write_json, write_text
from pipeline.config import paths
from pipeline.config.params import Params
from pipeline.data.provenance import Provenance
from pipeline.execution import results
from pipeline.reporting import (
    checks,
    costs,
    drawing,
    figures,
    labels,
    page,
    records,
    scores,
    significance,
    summary,
    table1,
    training_figures,
)
from pipeline.tracking import report_run

log = logging.getLogger(__name__)
# What differs between two reports of the same results.
MADE = "provenance.json"


def run(sets: Sequence[str], params: Params, root: Path = Path()) -> Path:
    """Write report/ and metrics/mean.json from the results of the sets, log it in MLflow, return its folder."""
    began = time.monotonic()
    # First: a store that does not answer is said before any work.
    reports = report_run.Reports(params.tracking, root) if params.tracking.enabled else None
    table = results.read_all(sets, root / paths.RESULTS)
    with _whole(root / paths.REPORT) as folder:
        results.write_table(table, folder / results.TABLE)
        content = build(folder, root)
        key = _digest(folder)
        made = provenance(sets, content["table"], reports)
        made["Seconds of the report"] = f"{time.monotonic() - began:.1f}"
        write_json(folder / MADE, made)
        write_text(folder / report_run.PAGE, page.render("page.html", provenance=made, **content))
    folder = root / paths.REPORT
    write_json(root / paths.MEANS, means(content["held"]))
    if reports is not None:
        reports.log(folder, key, content["sentences"])
    log.info("report: %d sets, %d models in %s.", len(sets), len(content["held"].models), folder / report_run.PAGE)
    return folder


def means(held: scores.Scores) -> dict[str, float]:
    """The mean accuracy over the sets, as a share, of the models that have a result on each: what DVC compares."""
    return {model: round(held.mean[model].mean() / 100, 6) for model in held.complete}


def build(folder: Path, root: Path) -> dict[str, Any]:
    """Write tables and pictures from the tidy table in `folder`; return what the page shows."""
    table = results.read_table(folder / results.TABLE, "ldep report")
    held = scores.of(table)
    sources = table.drop_duplicates("dataset").set_index("dataset")["source"].to_dict()
    provenances = {name: Provenance.read(name, root / paths.DATA) for name in held.sets}
    origins = {name: origin(provenances[name], sources[name]) for name in held.sets}
    lines = table1.lines(held, origins)
    write_text(folder / "table.md", table1.markdown(held, origins))
    write_text(folder / "table.csv", table1.csv(held))
    write_text(folder / "table.tex", table1.latex(held, origins))
    alone = {"lines": lines, "models": held.models, "caption": table1.CAPTION}
    write_text(folder / "table.html", page.render("table1_alone.html", **alone))
    claims, ranks, cost = significance.claims(held), significance.ranks(held), costs.per_model(table)
    made = _figures(table, held, ranks, cost, root)
    drawn = {name: drawing.save(figure, folder / "figures", name) for name, figure in made}
    decisions = records.decisions(held.sets, root)
    failed = table[(table["status"] == "failed") & (table["metric"] == "accuracy")]
    return {
        "table": table,
        "held": held,
        "folds": _folds(table),
        "lines": lines,
        "caption": table1.CAPTION,
        "compared": any(cell.papers for line in lines for cell in line.cells),
        "cards": _cards(held),
        "standing": _standing(held, ranks, cost),
        "sentences": summary.sentences(held, claims, ranks),
        "limits": summary.limits(held, claims),
        "failures": failed[["dataset", "model", "fold", "message"]].to_dict("records"),
        "checks": checks.run(held),
        "far": checks.far(held, table),
        "solvers": _solvers(table),
        "claims": claims,
        "ranks": ranks,
        "figures": drawn,
        "flat": [name for name in held.sets if f"boundaries_{name}" in drawn],
        "families": _families(held),
        "decisions": decisions,
        "undecided": [name for name in held.sets if name not in decisions],
        "data": [{"title": labels.title(n), "origin": origins[n], "record": provenances[n]} for n in held.sets],
        "sections": _sections(bool(len(failed)), bool(checks.run(held))),
    }


def origin(provenance: Provenance, source: str) -> str:
    """Name the source of a data set in words; `source` is the one that the results carry, and it decides."""
    return provenance.in_words() if provenance.source == source else source


def provenance(sets: Sequence[str], table: pd.DataFrame, reports: report_run.Reports | None) -> dict[str, str]:
    """What the report and its numbers were made with."""
    seconds = costs.per_model(table)["total"].sum()
    stage = os.environ.get("DVC_STAGE")
    trained = ", ".join(reports.commits(list(sets))) if reports else ""
    return {
        "Made": datetime.now(UTC).isoformat(timespec="seconds"),
        "Command": shlex.join(["ldep", "report", *sets]) + (f" (dvc repro, stage {stage})" if stage else ""),
        "Made with": machine.describe(),
        "Trained at commit": trained or "not known: no tracked run of these sets",
        "CPU time of the training": f"{seconds:.0f} s",
    }


def _figures(
    table: pd.DataFrame, held: scores.Scores, ranks: significance.Ranks | None, cost: pd.DataFrame, root: Path
) -> Iterator[tuple[str, Figure]]:
    seconds = costs.fit_seconds(table)
    fits = table.drop_duplicates(["dataset", "model", "fold"]).groupby("model")["fold"].size()
    if held.mean.notna().any(axis=None):
        yield "scores", figures.scores(held)
        yield "times", figures.times(seconds)
        yield "costs", figures.costs(cost)
    if held.complete:
        yield "score_and_time", figures.score_and_time(held, cost, fits)
    if ranks is not None:
        yield "ranks", figures.ranking(ranks)
    if len(held.models) > 1:
        yield "wins", figures.wins(significance.outcomes(held))
    optional = {
        "chosen": figures.chosen(table),
        "convergence": training_figures.convergence(held.sets, held.models, root),
        **{f"boundaries_{name}": training_figures.boundaries(name, held, root) for name in held.sets},
    }
    yield from ((name, made) for name, made in optional.items() if made is not None)


def _cards(held: scores.Scores) -> list[dict[str, Any]]:
    """The few numbers that most readers come for."""
    mean, printed = held.over_sets()["mean"], scores.printed(held.sets)
    cards = [
        {"model": model, "text": labels.label(model), "value": mean[model], "note": "mean accuracy here"}
        for model in labels.OURS
        if model in held.complete
    ]
    others = [model for model in held.complete if labels.family(model) != "ldep"]
    if others:
        best = max(others, key=lambda model: mean[model])
        cards.append(
            {"model": best, "text": labels.label(best), "value": mean[best], "note": "best of the others here"}
        )
    if len(printed) and len(printed) == len(held.sets):
        cards.append({"model": None, "text": "ℓ-DEP", "value": printed["ldep"].mean(), "note": "in the paper"})
        best = printed.mean().idxmax()
        if best != "ldep":
            note = "best of the paper's five"
            cards.append({"model": None, "text": labels.label(best), "value": printed[best].mean(), "note": note})
    return cards


def _standing(held: scores.Scores, ranks: significance.Ranks | None, cost: pd.DataFrame) -> list[dict[str, Any]]:
    summary_, best = held.over_sets(), held.best().sum()
    rows = [
        {
            "model": model,
            **{key: float(summary_.loc[model, key]) for key in ("mean", "std", "median")},
            "sets": int(summary_.loc[model, "sets"]),
            "rank": float(ranks.mean[model]) if ranks is not None and model in ranks.mean else None,
            "best": int(best[model]),
            "fitting": float(cost["fitting"][model]),
            "tuning": float(cost["tuning"][model]),
        }
        for model in held.models
    ]
    return sorted(rows, key=lambda row: (-row["sets"], -row["mean"] if row["sets"] else 0))


def _solvers(table: pd.DataFrame) -> dict[str, Any] | None:
    used = checks.solvers(table, "ldep_paper")
    if not used:
        return None
    exact = [name for name, solver in used.items() if solver == "ccp"]
    return {"all": len(used), "ccp": exact, "others": [name for name in used if name not in exact]}


def _folds(table: pd.DataFrame) -> str:
    counts = sorted(table.groupby("dataset")["fold"].nunique().unique())
    return f"{' or '.join(map(str, counts))} folds"


def _families(held: scores.Scores) -> list[tuple[str, str]]:
    present = {labels.family(model) for model in held.models}
    return [(name, text) for name, text in labels.FAMILY_LABELS.items() if name in present]


def _sections(failures: bool, compared: bool) -> list[tuple[str, str]]:
    optional = {"failures": failures, "checks": compared}
    listed = [
        ("summary", "Summary"), ("failures", "What failed"), ("table", "Table 1"), ("checks", "Against the paper"),
        ("tests", "Tests"), ("figures", "Scores and times"), ("training", "Choices and training"),
        ("registry", "Registered models"), ("data", "Data"), ("provenance", "How it was made"),
    ]  # fmt: skip
    return [(anchor, text) for anchor, text in listed if optional.get(anchor, True)]


def _digest(folder: Path) -> str:
    """Of everything that the results decide: the same report has the same."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return digest("report", [(str(path.relative_to(folder)), file_digest(path)) for path in files])


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """Give a new folder that takes the place of `target` when the block ends well."""
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        scratch.chmod(0o755)
        yield scratch
        shutil.rmtree(target, ignore_errors=True)
        scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
