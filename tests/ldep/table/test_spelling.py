"""Numbers as people write them: one spelling per column, found from all texts and used for all later ones."""

from __future__ import annotations

import math

import pytest

from ldep.table._spelling import Spelling, have_units, is_ambiguous, spelling_of


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["163,08", "-7", "0,5"], [163.08, -7.0, 0.5]),
        (["1.234,5", "2", "1.000"], [1234.5, 2.0, 1000.0]),
        (["1,234.5", "2", "1,000"], [1234.5, 2.0, 1000.0]),
        (["1,234,567", "2"], [1234567.0, 2.0]),
        (["1'234.50", "1"], [1234.5, 1.0]),
        (["1 234,5", "1\u202f000"], [1234.5, 1000.0]),
        (["12 %", "9.5%"], [0.12, 0.095]),
        (["12,5 %", "9 %"], [0.125, 0.09]),
        (["0,125", "0,250"], [0.125, 0.25]),
        (["1,5e3", "2,0"], [1500.0, 2.0]),
    ],
)
def test_the_numbers_of_a_column_are_read(texts, values):
    spelling = spelling_of(texts)
    assert [spelling.read(text) for text in texts] == values
    if not spelling.percent:
        assert spelling.read(7.5) == 7.5
    assert math.isnan(spelling.read("NA"))
    assert Spelling(**spelling.to_json()) == spelling


@pytest.mark.parametrize(
    "texts", [["1,5", "1.5"], ["1.234,5", "x"], ["12 kg"], [], ["1,23,4"], ["12 %", "5"], ["1_000"]]
)
def test_mixed_spellings_and_words_are_not_numbers(texts):
    assert spelling_of(texts) is None


def test_another_spelling_is_refused_later():
    with pytest.raises(ValueError, match=r"'1\.5' is not a number written like 1\.234,5"):
        Spelling(",", ".", False).read("1.5")
    with pytest.raises(ValueError, match="is not a spelling"):
        Spelling("x", "", False)


def test_units_and_ambiguous_commas_are_noticed():
    assert have_units(["12 kg", "3.5m/s", "$ 20", "7°"])
    assert not have_units(["12", "A 4", "12 green bottles"])
    assert is_ambiguous(["1,234", "5"])
    assert not is_ambiguous(["1,234,567", "1,5"])
    assert not is_ambiguous(["0,234"])
