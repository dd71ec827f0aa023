"""The terms of a text: its words in any script and any spelling."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest

from ldep.table import words


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Refunds, REFUNDED: refund!", {"refund"}),
        ("Cafe\u0301 CAFÉ", {"café"}),
        ("ΟΔΟΣ οδος", {"οδοσ"}),
        ("İstanbul istanbul", {"istanb"}),
        ("यह हिन्दी है", {"यह", "हिन्दी", "है"}),
        ("мы ЖДЁМ", {"мы", "ждём"}),
        ("订单未到", {"订", "单", "未", "到", "订单", "单未", "未到"}),
        ("iPhone坏", {"iphone", "坏"}),
        ("❤️love it🙂🙂", {"❤", "love", "it", "🙂"}),
        ("don't", {"don", "t"}),
        ("", set()),
        ("... --- !!!", set()),
        ("error 404", {"error", "404"}),
    ],
)
def test_the_terms_of_a_text(text, terms):
    assert words.terms_of(text) == terms
    assert words.terms_of(unicodedata.normalize("NFD", text)) == terms
    for term in terms:
        assert term in words.terms_of(term)


def test_characters_are_folded_one_by_one():
    """A text is folded as its characters are, which an exported model replaces one by one."""
    letters = "".join(map(chr, range(0x20, 0x3000)))
    alone = [unicodedata.normalize("NFC", letter) for letter in letters]
    mixed = np.random.default_rng(0).permutation([letter for letter, same in zip(letters, alone) if letter == same])
    for start in range(0, len(mixed), 5):
        text = "x".join(mixed[start : start + 5])
        assert words.folded(text) == unicodedata.normalize("NFC", "".join(map(words.folded, text)))
