"""Spellings of one category: which they are, and that each is read alike."""

from __future__ import annotations

import unicodedata

import numpy as np
import pandas as pd
import pytest

from ldep.table import Nominal, TableEncoder, columns, kinds, merges
from tests.support import tickets

NFD = unicodedata.normalize("NFD", "München")
TOWNS = ["München"] * 30 + [NFD] * 12 + ["MÜNCHEN"] * 5 + ["New  York"] * 8 + ["new york"] * 20 + ["Bonn"] * 25
TYPES = ["yes"] * 60 + ["Yes"] * 40


def table(**more: list[str]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Categorical(cells) for name, cells in {"town": TOWNS, **more}.items()})


def test_the_most_frequent_spelling_comes_first():
    column = pd.Series(pd.Categorical(["Yes", "yes", "yes", " YES ", "no"]))
    assert merges.groups(column) == [["yes", " YES ", "Yes"]]


def test_numbers_and_different_words_are_not_merged():
    assert merges.merges(pd.Series([1.0, 1.5])) == {}
    assert merges.merges(pd.Series(pd.Categorical(["a", "b", "ab", "a-b"]))) == {}


def test_the_categories_of_a_merged_column_keep_their_order_and_missing_cells():
    column = pd.Series(pd.Categorical(["b", None, "B", "b", "a"], categories=["c", "B", "b", "a"]))
    found = merges.merged(column, merges.merges(column))
    assert list(found.cat.categories) == ["c", "b", "a"]
    assert found.isna().tolist() == [False, True, False, False, False]
    assert found.dropna().tolist() == ["b", "b", "b", "a"]


@pytest.mark.parametrize("encode", ["auto", "ordinal", "one_hot", "frequency"])
def test_each_spelling_is_read_as_its_category(encode):
    frame = table(answer=TYPES)
    recipes = [decision.recipe for decision in kinds.decide(frame, encode, merge=["town"])]
    assert recipes[0]["merged"] == {NFD: "München", "MÜNCHEN": "München", "New  York": "new york"}
    assert sorted(recipes[0]["categories"]) == ["Bonn", "München", "new york"]
    assert recipes[1]["categories"] == ["Yes", "yes"]  # nobody wants these merged
    encoder = TableEncoder(recipes, scale=False).fit(frame)
    sent = pd.DataFrame({"town": [NFD, "München", f" {NFD} ", "new york", "New  York", "münchen"], "answer": "yes"})
    values = encoder.transform(sent)
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_array_equal(values[0], values[2])
    np.testing.assert_array_equal(values[3], values[4])
    assert not np.array_equal(values[0], values[3])
    assert encoder.read_cells(sent)[1]["town"].tolist() == [5]  # a spelling that training has not seen
    again = TableEncoder.from_json(encoder.to_json())
    np.testing.assert_array_equal(again.transform(sent), encoder.transform(sent))


def test_a_column_of_one_category_in_two_spellings_is_left_out():
    (_, answer) = kinds.decide(table(answer=TYPES), merge=["answer"])
    assert answer.drop == "it has the same value in every row"


def test_numbers_and_texts_are_read_from_their_spelling():
    numbers = [f"1{blank}{number}" for number in range(100, 150) for blank in (" ", "\u00a0")]
    bodies = tickets.table(50)["body"]
    texts = [*bodies, *bodies.str.lower()]
    assert merges.merges(pd.Series(pd.Categorical(texts)))
    for decision in kinds.decide(table(number=numbers, text=texts), merge=["number", "text"])[1:]:
        assert decision.kind in ("numeric", "text")
        assert "merged" not in decision.recipe


@pytest.mark.parametrize("merged", [(("b", "a"),), (("x", "c"),)])
def test_a_spelling_is_no_category_and_stands_for_one(merged):
    with pytest.raises(ValueError, match="is not another spelling of a category"):
        Nominal("column", ("a", "b"), merged=merged)


def test_a_damaged_recipe_is_refused():
    recipe = columns.to_json(Nominal("column", ("a", "b"), merged=(("A", "a"),)))
    assert columns.from_json(recipe).merged == (("A", "a"),)
    with pytest.raises(ValueError, match="a spelling stands for no category"):
        columns.from_json({**recipe, "merged": {"A": 1}})
