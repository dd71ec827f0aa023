"""Tables on which a careless pipeline crowns a useless model: what is registered, and what the user is told.

Each goes through every stage, as a file of a user's does. Nothing may fail with a traceback, and no champion may be a
model that is no better than guessing or that gives every row the same answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from ldep_pipeline.commands.main import main
from ldep_pipeline.registry import download
from tests.faults.conftest import CROWNED

pytestmark = pytest.mark.fault
CLASSIFIERS = {
    "logistic": {"class": "sklearn.linear_model.LogisticRegression"},
    "trees": {"class": "sklearn.ensemble.ExtraTreesClassifier", "params": {"n_estimators": 30}},
    "ldep": {"class": "ldep.LDEPClassifier", "params": {"r1": 3, "r2": 3, "alpha": 0.1, "n_init": 1, "max_iter": 30}},
}
ROWS = 300
NOTHING = None


def noise(rng: np.random.Generator) -> pd.DataFrame:
    frame = pd.DataFrame(rng.normal(size=(ROWS, 4)), columns=list("abcd"))
    return frame.assign(label=rng.choice(["no", "yes"], size=ROWS))


def shuffled_identifiers(rng: np.random.Generator) -> pd.DataFrame:
    return noise(rng).assign(customer=rng.permutation(ROWS), code=rng.choice(list("pqrstuvw"), size=ROWS))


def rare(rng: np.random.Generator) -> pd.DataFrame:
    fails = rng.random(3 * ROWS) < 0.03
    frame = pd.DataFrame({"a": rng.normal(size=3 * ROWS) + 2 * fails, "b": rng.normal(size=3 * ROWS)})
    return frame.assign(label=np.where(fails, "fail", "fine"))


def rare_noise(rng: np.random.Generator) -> pd.DataFrame:
    return rare(rng).assign(a=rng.normal(size=3 * ROWS))


def one_text(rng: np.random.Generator) -> pd.DataFrame:
    wanted = rng.random(ROWS) < 0.5
    words = [
        " ".join([*rng.choice(["the", "was", "and", "again", "please", "still", "my", "our"], size=8), word])
        for word in np.where(wanted, "refund", "printer")
    ]
    return pd.DataFrame({"text": words, "a": rng.normal(size=ROWS), "label": np.where(wanted, "billing", "support")})


def leak(rng: np.random.Generator) -> pd.DataFrame:
    table = noise(rng)
    return table.assign(answer=(table["label"] == "yes") + 0.01 * rng.normal(size=ROWS))


def copies(rng: np.random.Generator) -> pd.DataFrame:
    """Every row five times: copies of a test row are trained on, so noise looks like skill."""
    return pd.concat([noise(rng)[: ROWS // 5]] * 5, ignore_index=True)


def constant_columns(rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame({"a": rng.choice([1.0, 2.0], size=ROWS), "label": rng.choice(["no", "yes"], size=ROWS)})


def class_by_time(rng: np.random.Generator) -> pd.DataFrame:
    """The second class begins when most folds are over: their rows have a single class."""
    return noise(rng).assign(day=range(ROWS), label=np.where(np.arange(ROWS) < 0.9 * ROWS, "no", "yes"))


TABLES: dict[str, tuple[Callable[[np.random.Generator], pd.DataFrame], dict[str, Any], bool, str]] = {
    # table, keys of params.yaml, whether a champion is right, what the output must say
    "pure noise": (noise, {}, False, "no model beats guessing"),
    "noise with identifiers": (shuffled_identifiers, {}, False, "no model beats guessing"),
    "rare class, accuracy": (rare_noise, {"metric": "accuracy"}, False, "no model beats guessing"),
    "rare noise, average precision": (rare_noise, {"metric": "average_precision"}, False, "no model beats guessing"),
    "rare noise, f1": (rare_noise, {"metric": "f1"}, False, "no model beats guessing"),
    "rare class, average precision": (rare, {"metric": "average_precision"}, True, ""),
    "rare class, f1": (rare, {"metric": "f1"}, True, ""),
    "one informative text": (one_text, {}, True, "its texts become features"),
    "target leak": (leak, {}, True, "it alone separates the classes almost perfectly"),
    "copied rows": (copies, {}, True, "rows repeat an earlier row"),
    "one useless column": (constant_columns, {}, False, "no model beats guessing"),
}


def run(folder: Path, frame: pd.DataFrame, keys: dict[str, Any], **own: Any) -> int:
    """All stages up to the report; the first exit code that is not 0."""
    (folder / "data/own").mkdir(parents=True)
    frame.to_csv(folder / "data/own/mine.csv", index=False)
    values = {
        "datasets": ["mine"],
        "own_data": {"mine": {"path": "data/own/mine.csv", "target": "label", **own}},
        "models": list(CLASSIFIERS),
        "classifiers": CLASSIFIERS,
        "execution": {"n_jobs": 1},
        "tracking": {"models": False},
        **keys,
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(values))
    stages = ("check", "fetch", "impute", "split", "train", "register", "report")
    return next((code for stage in stages if (code := main([stage]))), 0)


@pytest.mark.parametrize("name", list(TABLES))
def test_what_is_crowned(tmp_path, monkeypatch, caplog, capsys, record_property, name):
    monkeypatch.chdir(tmp_path)
    make, keys, is_crowned, said = TABLES[name]
    frame = make(np.random.default_rng(0))
    with caplog.at_level("INFO"):
        assert run(tmp_path, frame, keys) == 0
    record = json.loads(Path("registry/mine.json").read_text())
    record_property(CROWNED, f"{name}: {record['model'] if record['registered'] else 'nothing'}; {record['why']}")
    assert said in caplog.text + Path("report/mine.html").read_text()
    assert (record["registered"] is not None) is is_crowned
    assert ("No model beats guessing" in Path("report/mine.html").read_text()) is not is_crowned
    if is_crowned:
        answers = download.load("models:/ldep-mine@champion").predict(frame.drop(columns="label"))
        assert set(answers) == set(frame["label"])
    else:
        assert main(["serve", "mine"]) == 1
        assert "no model beats guessing" in capsys.readouterr().err


def test_a_class_that_most_folds_lack_is_refused_or_not_crowned(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = run(tmp_path, class_by_time(np.random.default_rng(0)), {}, split={"time": "day"})
    if code:
        assert "Traceback" not in (message := capsys.readouterr().err)
        assert "class" in message
        assert not Path("registry/mine.json").exists()
    else:
        assert json.loads(Path("registry/mine.json").read_text())["registered"] is None
