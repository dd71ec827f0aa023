"""Which columns are prose, and what params.yaml sets: names, codes and categories are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ldep.table import ColumnError, kinds, words
from ldep_pipeline.config.params import Data
from ldep_pipeline.data import catalogue, sources
from ldep_pipeline.data.frames import read_frame
from tests.support import churn, registered, tickets
from tests.support.encoders import encoder_for
from tests.support.prose import NOT_PROSE, PROSE


def column(strings: list[str | None]) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Categorical(strings)})


def sentences(seed: int) -> list[str]:
    return list(tickets.table(120, seed=seed)["body"])


@pytest.mark.parametrize("name", PROSE)
def test_prose_is_recognised(name):
    (decision,) = kinds.decide(column(PROSE[name]))
    assert decision.kind == "text", decision
    assert len(decision.recipe["terms"]) >= words.FEWEST_TERMS
    assert "words" in decision.remarks[0]


@pytest.mark.parametrize("name", NOT_PROSE)
def test_names_codes_and_categories_are_not_prose(name):
    (decision,) = kinds.decide(column(NOT_PROSE[name]))
    assert decision.kind != "text", decision


@pytest.mark.parametrize("name", ["churn", "shop", "packaged"])
def test_tables_without_prose_have_no_texts(name, tmp_path):
    """Numbers, dates, identifiers, cities and categories, as files have them, and the packaged tables of the paper."""
    if name == "packaged":
        tables = [sources.fetch(catalogue.entry(of), Data(source="offline"))[0] for of in ("titanic", "kr-vs-kp")]
    else:
        frame, target = (churn.table(1000), churn.TARGET) if name == "churn" else (registered.rows(), "sold")
        frame.to_csv(tmp_path / "table.csv", index=False)
        tables = [read_frame(tmp_path / "table.csv", target)]
    for table in tables:
        assert "text" not in {decision.kind for decision in kinds.decide(table)}


def test_two_texts_are_no_copies_of_each_other():
    """All strings of both columns differ, so that both have the same pattern of repetitions."""
    first, second = sentences(0), sentences(1)
    rows = [row for row in range(120) if first.index(first[row]) == row and second.index(second[row]) == row]
    frame = pd.DataFrame(
        {"a": pd.Categorical([first[row] for row in rows]), "b": pd.Categorical([second[row] for row in rows])}
    )
    assert [decision.kind for decision in kinds.decide(frame)] == ["text", "text"]
    assert [decision.drop for decision in kinds.decide(frame)] == [None, None]
    copied = kinds.decide(frame.assign(b=frame["a"]))
    assert copied[1].drop == "it says the same as the column 'a'"


def test_dates_and_spelled_numbers_without_repetitions_are_no_copies_of_each_other():
    days = pd.date_range("2020-01-01", periods=60).strftime("%d.%m.%Y")
    frame = pd.DataFrame({"day": pd.Categorical(days), "price": pd.Categorical([f"{k},50" for k in range(60)])})
    frame = frame.iloc[np.argsort(frame["day"].cat.codes.to_numpy())]  # both in the order of their strings
    frame["price"] = pd.Categorical(sorted(frame["price"]))
    assert [decision.drop for decision in kinds.decide(frame)] == [None, None]


def test_params_decide_otherwise():
    frame = column(sentences(0))
    assert kinds.decide(frame, {"x": "drop"})[0].recipe is None
    assert kinds.decide(frame, {"x": "frequency"})[0].recipe["encoding"] == "frequency"
    names = column(NOT_PROSE["names"])
    assert kinds.decide(names, {"x": "text"})[0].recipe["terms"][0] == "berg"  # of equally frequent words the first
    with pytest.raises(ColumnError, match="no word is in 3 of its texts"):
        kinds.decide(column(NOT_PROSE["hashes"]), {"x": "text"})
    numbers = pd.DataFrame({"x": [float(number % 7) for number in range(50)]})
    encoder = encoder_for(numbers, {"x": "text"}).fit(numbers)
    assert encoder.get_feature_names_out().tolist()[0] == "x ‘0’"
    assert encoder.transform(pd.DataFrame({"x": ["3", 3, 3.0, "03"]})).sum(axis=1).tolist() == [1.0] * 4


def test_the_words_of_all_texts_are_limited_together():
    generator = np.random.default_rng(0)

    def texts(n_words: int) -> list[str]:
        return [" ".join(f"w{number}" for number in generator.integers(0, n_words, 12)) for _ in range(600)]

    frame = pd.DataFrame({name: pd.Categorical(texts(size)) for name, size in (("a", 300), ("b", 500), ("c", 5000))})
    wanted = dict.fromkeys(frame.columns, "text")
    chosen = {decision.name: decision.recipe["terms"] for decision in kinds.decide(frame, wanted)}
    assert sum(map(len, chosen.values())) == kinds.MOST_TERMS
    assert min(map(len, chosen.values())) >= kinds.MOST_TERMS // 6
    assert kinds.decide(frame, wanted) == kinds.decide(frame, wanted)
