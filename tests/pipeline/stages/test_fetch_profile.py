"""The stage fetch writes the profile of a file, and warns about what it leaves out."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ldep.table import kinds
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config.params import Data, Impute, OwnData
from ldep_pipeline.data.profile import read_profile
from ldep_pipeline.data.stage_files import read_encoder
from ldep_pipeline.stages import fetch, impute
from tests.support import churn


def test_the_profile_of_a_file_is_written_and_follows_encode(tmp_path, caplog):
    churn.table(300).to_csv(tmp_path / "churn.csv", index=False)
    own = OwnData(path=str(tmp_path / "churn.csv"), target=churn.TARGET, encode={"city": "drop"})
    fetch.run("churn", Data(), {"churn": own}, tmp_path / "data")
    profile = read_profile("churn", tmp_path / "data")
    columns = {column["name"]: column for column in profile["columns"]}
    assert columns["customer_id"]["drop"].startswith("nearly every row has a string of its own")
    assert columns["city"]["drop"] == "encode says so"
    assert {name: columns[name]["kind"] for name in ("signed_up", "last_login", "autopay", "plan", "income")} == {
        "signed_up": "date",
        "last_login": "date",
        "autopay": "boolean",
        "plan": "nominal",
        "income": "numeric",
    }
    assert columns["income"]["treatment"] == "used as it is; missing values are filled, and marked by a feature"
    assert "column 'customer_id' is left out" in caplog.text
    assert "name its kind in own_data.churn.encode" in caplog.text


def test_the_decision_that_fetch_stores_is_the_one_that_impute_follows(tmp_path, monkeypatch):
    churn.table(300).to_csv(tmp_path / "churn.csv", index=False)
    own = OwnData(path=str(tmp_path / "churn.csv"), target=churn.TARGET)
    fetch.run("churn", Data(), {"churn": own}, tmp_path / "data")
    decided = [column["recipe"] for column in read_profile("churn", tmp_path / "data")["columns"] if column["recipe"]]
    monkeypatch.setattr(kinds, "_Column", None)  # nobody decides again
    impute.run("churn", Impute(), tmp_path / "data")
    assert read_encoder("churn", tmp_path / "data").to_json()["columns"] == decided


def test_a_profile_that_is_missing_or_damaged_names_the_stage_to_run(tmp_path):
    with pytest.raises(UserError, match="run `ldep fetch churn` first"):
        read_profile("churn", tmp_path)
    (tmp_path / "profile").mkdir()
    (tmp_path / "profile/churn.json").write_text("{}")
    with pytest.raises(UserError, match="it is not a profile"):
        read_profile("churn", tmp_path)


def test_fetch_starts_without_scientific_packages():
    """The stage runs once per data set, and importing scikit-learn takes longer than reading most of them."""
    code = "import sys, ldep_pipeline.stages.fetch; print({'sklearn', 'scipy'} & set(sys.modules) or 'none')"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "none"
