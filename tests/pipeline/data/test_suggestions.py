"""What is suggested about a table whose cells cannot decide it, and that the suggested commands do it."""

from __future__ import annotations

import json
import shlex
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from ldep_pipeline.commands.main import main
from ldep_pipeline.data.frames import read_frame
from ldep_pipeline.data.own_file import suggest
from ldep_pipeline.data.profile import profile

ROOT = Path(__file__).parents[3]
ROWS = 240


@pytest.fixture
def file(tmp_path, monkeypatch) -> Path:
    """Logs of eight machines, with a flag, a rating, a postal code, and a target in two spellings."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "machine_id": np.arange(ROWS) % 8 + 1000,
            "measured": pd.date_range("2026-01-01", periods=ROWS, freq="h").strftime("%Y-%m-%d %H:%M"),
            "load": rng.normal(size=ROWS).round(3),
            "flag": rng.integers(0, 2, size=ROWS),
            "rating": rng.integers(1, 6, size=ROWS),
            "zip": rng.integers(10_000, 99_999, size=ROWS),
            "town": rng.choice(["München", unicodedata.normalize("NFD", "München"), "Bonn"], size=ROWS),
            "failed": rng.choice(["yes", "yes", "Yes", "no", "no"], size=ROWS),
        }
    )
    frame.to_csv("logs.csv", index=False)
    Path("params.yaml").write_text((ROOT / "params.yaml").read_text())
    return Path("logs.csv")


def commands(file: Path, target: str = "failed") -> dict[str, str]:
    """What is suggested: the sentence by what to type."""
    frame = read_frame(file, target)
    return {suggestion.command("logs"): suggestion.text for suggestion in suggest(frame, profile(frame))}


def test_groups_times_spellings_and_codes_are_suggested(file):
    found = commands(file)
    assert "names 8 things with 30 rows each" in found["--group machine_id"]
    assert "test it on later rows" in found["--time measured"]
    assert "'yes' and 'Yes'" in found["--merge failed"]
    assert "'town' has categories that are probably the same" in found["--merge town"]
    assert "'zip': the numbers of postal codes" in found['ldep set \'own_data.logs.encode={"zip": "frequency"}\'']
    assert "'rating': few whole numbers" in found['ldep set \'own_data.logs.encode={"rating": "one_hot"}\'']


def test_honest_numbers_and_words_suggest_nothing():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"load": rng.normal(size=100), "colour": pd.Categorical(rng.choice(["red", "blue"], size=100))}
    )
    frame["kind"] = pd.Categorical(rng.choice(["a", "b"], size=100))
    assert suggest(frame, profile(frame)) == []


def test_inspect_prints_the_commands_and_they_work(file, capsys):
    assert main(["inspect", "logs.csv", "--target", "failed"]) == 0
    printed = capsys.readouterr().out
    (line,) = [line for line in printed.splitlines() if "--group machine_id" in line]
    command = line[line.index("ldep new") :]
    assert main(shlex.split(command)[1:]) == 0
    assert yaml.safe_load(Path("params.yaml").read_text())["own_data"]["logs"]["split"]["group"] == "machine_id"
    assert main(shlex.split('ldep set \'own_data.logs.encode={"rating": "one_hot"}\'')[1:]) == 0


def test_the_suggested_merges_are_made_and_not_suggested_again(file, capsys):
    assert main(["inspect", "logs.csv", "--target", "failed"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "'yes' and 'Yes'" in line]
    command = shlex.split(line[line.index("ldep new") :])[1:]
    assert main([*command, "--merge", "town", "--suite", "quick"]) == 0
    assert "--merge" not in capsys.readouterr().out
    assert yaml.safe_load(Path("params.yaml").read_text())["own_data"]["logs"]["merge"] == ["failed", "town"]
    assert main(["fetch", "logs"]) == 0
    found = json.loads(Path("data/profile/logs.json").read_text())
    assert set(found["classes"]) == {"yes", "no"}
    (town,) = [column for column in found["columns"] if column["name"] == "town"]
    assert (town["distinct"], len(town["recipe"]["categories"])) == (2, 2)
    assert "is read as" in town["remarks"][0]


def test_only_columns_of_the_file_can_be_merged(file, capsys):
    assert main(["new", "logs", "logs.csv", "--target", "failed", "--merge", "twon"]) == 1
    assert "own_data.logs.merge: logs.csv has no column 'twon' in use; did you mean 'town'?" in capsys.readouterr().err
    assert yaml.safe_load(Path("params.yaml").read_text())["own_data"] == {}


def test_two_whole_numbers_are_a_choice(file):
    """No counterfactual sets such a column to anything between, because it can only take one of the two."""
    frame = read_frame(file, "failed")
    found = {column.name: column for column in profile(frame).columns}
    assert found["flag"].kind == "nominal"
    assert found["flag"].recipe["categories"] == ["0", "1"]
    assert found["flag"].treatment == "1 for '1', else 0"
    assert found["rating"].kind == found["load"].kind == "numeric"
