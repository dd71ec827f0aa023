"""`ldep diff`: two versions of a model, with proven differences, as text and as a page."""

from __future__ import annotations

import json

import pandas as pd
import pytest
import yaml

from ldep.prove import verify
from ldep_pipeline.commands import diff
from ldep_pipeline.commands.main import main
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config import params
from ldep_pipeline.registry import download
from ldep_pipeline.stages import register, train
from tests.support import registered
from tests.support.registered import MODEL, NAME

FIRST, SECOND = f"models:/{MODEL}/1", f"models:/{MODEL}/2"


@pytest.fixture
def two_versions(trained_project):
    """The second version has fewer pieces."""
    register.run(NAME, registered.with_candidates("ldep"))
    values = yaml.safe_load(params.paths.PARAMS.read_text(encoding="utf-8"))
    values["classifiers"]["ldep"]["params"] |= {"r1": 1, "r2": 2}
    values["register"] = {"candidates": ["ldep"]}
    changed = params.check(values)
    train.run(NAME, changed)
    register.run(NAME, changed, promote=True)
    return trained_project


def test_the_shown_rows_have_the_stated_differences(two_versions, tmp_path, capsys):
    page, evidence = tmp_path / "difference.html", tmp_path / "evidence.json"
    assert main(["diff", FIRST, SECOND, "--html", str(page), "--certificate", str(evidence)]) == 0
    shown = capsys.readouterr().out
    assert "WHERE THEY DIFFER MOST" in shown
    assert "<table" in page.read_text(encoding="utf-8")
    assert all(holds for holds, _ in verify.check(json.loads(evidence.read_text(encoding="utf-8"))))
    result = diff.run(FIRST, SECOND)
    models = [download.load(uri) for uri in (FIRST, SECOND)]
    for extreme in result.found.extremes:
        row = pd.DataFrame([extreme.row])
        values = [model.score(model.numbers(row))[1][0] for model in models]
        assert values == pytest.approx(extreme.values)
        assert abs(values[1] - values[0]) == pytest.approx(extreme.difference)
        assert extreme.difference <= extreme.bound <= extreme.difference + 1e-4 * abs(extreme.difference)
    for found in result.found.disagreements:
        if found.row is not None:
            row = pd.DataFrame([found.row])
            assert tuple(model.predict(row)[0] for model in models) == found.classes
    rows = registered.rows().drop(columns="sold")
    differ = sum(a != b for a, b in zip(*(model.predict(rows) for model in models)))
    assert sum(len(region.rows) for region in result.regions) == differ > 0


def test_what_is_no_ldep_and_what_has_no_rows_is_refused(two_versions, tmp_path):
    register.run(registered.BASELINE, registered.with_candidates("linear"))
    with pytest.raises(UserError, match="only ℓ-DEPs are"):
        diff.run(f"models:/ldep-{registered.BASELINE}/1", f"models:/ldep-{registered.BASELINE}/1")
    rows = tmp_path / "rows.csv"
    pd.DataFrame({"width": [1.0]}).to_csv(rows, index=False)
    with pytest.raises(UserError, match="größe"):
        diff.run(FIRST, SECOND, rows)
