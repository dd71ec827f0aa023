"""Promises of params.yaml: proven before a version becomes champion, and checked by `ldep verify`."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pandas as pd
import pytest
import yaml

from ldep_pipeline.commands.main import main
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config import params
from ldep_pipeline.registry import download
from ldep_pipeline.stages import register
from tests.support import registered
from tests.support.registered import MODEL, NAME, aliases, all_versions

KEPT = {"range": {"decision": [-1000.0, 1000.0]}}
BROKEN = {"never_changes": {"column": "colour"}}


def promising(*promises: dict[str, Any], candidate: str = "ldep") -> params.Params:
    """The parameters of the project, with promises of its data set, in memory and in the file."""
    values = yaml.safe_load(params.paths.PARAMS.read_text(encoding="utf-8"))
    values["own_data"][NAME]["promises"] = list(promises)
    values["register"] = {"candidates": [candidate]}
    params.paths.PARAMS.write_text(yaml.safe_dump(values, allow_unicode=True), encoding="utf-8")
    return params.check(values)


def test_a_version_that_keeps_its_promises_becomes_champion(trained_project):
    record = register.run(NAME, promising(KEPT))
    assert record["decision"] == "champion"
    assert [promise["kept"] for promise in record["promises"]] == [True]
    (version,) = all_versions()
    assert json.loads(version.tags["promises"])[0]["why"] in version.description
    assert register.run(NAME, promising(KEPT)) == record


def test_a_version_that_breaks_one_becomes_challenger_with_the_row(trained_project):
    record = register.run(NAME, promising(KEPT, BROKEN))
    assert record["decision"] == "challenger"
    assert "breaks the promise" in record["why"]
    assert aliases() == {"challenger": "1"}
    again = register.run(NAME, promising(KEPT))
    assert again["decision"] == "champion"


def test_a_model_that_is_no_ldep_keeps_no_promise(trained_project):
    record = register.run(NAME, promising(KEPT, candidate="linear"))
    assert record["decision"] == "challenger"
    assert "nothing can be proven" in record["promises"][0]["why"]


def test_verify_shows_rows_that_the_model_answers_as_it_says(trained_project, tmp_path, capsys):
    register.run(NAME, promising(KEPT))
    promising(BROKEN, KEPT)
    folder = tmp_path / "evidence"
    assert main(["verify", f"models:/{MODEL}@champion", "--certificates", str(folder)]) == 3
    shown = capsys.readouterr().out
    assert shown.count("BROKEN: ") == 1
    assert shown.count("kept: ") == 1
    done = subprocess.run(
        [sys.executable, "-I", folder / "verify.py", folder / "promise-2.json", folder / "model.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    promising(KEPT)
    assert main(["verify", f"models:/{MODEL}@champion"]) == 0


def test_the_shown_rows_break_the_promise_as_served(trained_project):
    from ldep_pipeline.registry import promises

    register.run(NAME, promising(KEPT))
    served = download.load(f"models:/{MODEL}@champion")
    checked = promising(BROKEN).own_data[NAME].promises
    rows = registered.rows().drop(columns="sold")
    ((record, certificate),) = promises.check(served, checked, rows, lambda uri: None)
    assert certificate is None
    first, second = record["rows"]
    assert {name for name in first if first[name] != second[name]} == {"colour"}
    assert len(set(served.predict(pd.DataFrame([first, second])))) == 2


@pytest.mark.parametrize(
    ("promise", "message"),
    [
        ({"never_changes": {"columns": "colour"}}, "columns"),
        ({"never_changes": {"column": "colour"}, "monotone": {"width": "up"}}, "one promise per entry"),
        ({}, "one promise per entry"),
        ({"stable": {"within": {"width": 1.0}, "share": 2}}, "share"),
    ],
)
def test_a_wrong_statement_is_refused_before_anything_runs(trained_project, promise, message):
    with pytest.raises(UserError, match=message):
        promising(promise)


def test_a_promise_about_a_column_that_is_not_used_is_not_kept_and_says_so(trained_project):
    record = register.run(NAME, promising({"never_changes": {"column": "sex"}}))
    assert record["decision"] == "challenger"
    assert "'sex' is not a column that the model uses" in record["why"]
