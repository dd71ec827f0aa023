"""Prose: which terms a text contains, and which columns of strings are prose.

The terms of a text are

- the beginnings of its words, of at most LENGTH characters: 'refund', 'refunds' and 'refunded' are one term, 'refund';
- in scripts that have no blanks between words, such as Chinese, Japanese and Thai, the characters and the pairs of
  adjacent ones;
- symbols, such as emoji.

A word is a run of letters, digits and their marks. Case does not count, and neither does the normal form: 'Café' is the
same word whether its last letter is stored as one character or as two. A text contains a term or not; how often does
not count. So a feature depends on one term alone, unlike those of TF-IDF, and its contribution is that of the term;
`python -m benchmarks texts` says what that costs in accuracy.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

LENGTH = 6
# Scripts without blanks between words: Thai, Lao, Myanmar, Khmer, Japanese, Chinese.
UNSPACED = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3041, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF)),
    *((0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x20000, 0x3FFFF)),
)
SELECTORS = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF))  # they choose how the character before them is drawn
LAST = 0x1FFFF  # beyond it there are only scripts without blanks, and selectors

# A column is prose if the median string has this many words, and a tenth of them this many.
MEDIAN_WORDS, LONG_WORDS = 3, 5
UNSPACED_WORD = 4  # more than words have, because names and addresses would look like prose
# In capitals throughout, where names and addresses look like prose, these.
MEDIAN_IN_CAPITALS, LONG_IN_CAPITALS = 5, 8
# The least share of words, after the first one of each string, that do not begin with a capital letter.
MOST_SMALL = 0.5
MOST_CAPITALS = 0.9
SAMPLE = 2000  # strings that are looked at
LONGEST = 2000  # characters of them
FEWEST_ROWS = 3  # that contain a term, and that lack it
FEWEST_TERMS = 5
PUNCTUATION = ".,;:!?\"'()[]{}<>«»„“”‘’…-–—*/|#"


class Term(NamedTuple):
    """A term, and the number of rows whose text contains it."""

    text: str
    rows: int


def folded(text: str) -> str:
    """A text in one case and in composed form. 'İ' and final 'ς' are the letters that lower case treats by context."""
    if text.isascii():
        return text.lower()
    composed = unicodedata.normalize("NFC", text)
    return unicodedata.normalize("NFC", composed.replace("İ", "i").lower().replace("ς", "σ"))


def terms_of(text: str) -> set[str]:
    """The terms that a text contains.

    Examples
    --------
    >>> sorted(terms_of("Delivered: 2 parcels, Café 🙂"))
    ['2', 'café', 'delive', 'parcel', '🙂']
    """
    text = folded(text)
    words, unspaced, symbols = _patterns()
    terms = {word[:LENGTH] for word in words.findall(text)}
    if not text.isascii():
        terms.update(symbols.findall(text))
        for run in unspaced.findall(text):
            terms.update(run)
            terms.update(first + second for first, second in pairwise(run))
    return terms


def folded_characters() -> dict[str, str]:
    """The characters that `folded` replaces by another one."""
    pairs = ((chr(code), folded(chr(code))) for code in range(LAST + 1) if not 0xD800 <= code <= 0xDFFF)
    return {character: letter for character, letter in pairs if letter != character and len(letter) == 1}


def is_part(term: str) -> bool:
    """Whether a term is no word: one or two characters of a script without blanks, or a symbol."""
    return is_unspaced(term[0]) or unicodedata.category(term[0]) == "So"


def is_unspaced(character: str) -> bool:
    """Whether a character is of a script without blanks between words."""
    return any(first <= ord(character) <= last for first, last in UNSPACED)


def frequent(texts: Iterable[str], counts: Iterable[int], rows: int, most: int) -> list[Term]:
    """The terms that most of `rows` contain, the first `most` of them; `counts` says in how many rows a text occurs."""
    found: Counter[str] = Counter()
    for text, count in zip(texts, counts):
        for term in terms_of(text):
            found[term] += int(count)
    usable = [Term(*item) for item in found.items() if FEWEST_ROWS <= item[1] <= rows - FEWEST_ROWS]
    return sorted(usable, key=lambda term: (-term.rows, term.text))[:most]


def are_prose(strings: Sequence[str]) -> bool:
    """Whether strings are sentences or phrases, and not names, addresses, titles, codes, links or paths.

    A word is written in letters between blanks, apart from punctuation at its ends. In scripts without blanks
    UNSPACED_WORD characters count as one.
    """
    step = max(1, len(strings) // SAMPLE)
    tokens = [[token.strip(PUNCTUATION) for token in string[:LONGEST].split()] for string in strings[::step]]
    words = [[token for token in of_string if _is_word(token)] for of_string in tokens]
    lengths = np.array([sum(_length(word) for word in of_string) for of_string in words])
    later = [word for of_string in words for word in of_string[1:]]
    letters = [letter for of_string in words for word in of_string for letter in word]
    if not letters:
        return False
    median, long = float(np.median(lengths)), float(np.quantile(lengths, 0.9))
    if sum(map(str.isupper, letters)) >= MOST_CAPITALS * len(letters):
        return median >= MEDIAN_IN_CAPITALS and long >= LONG_IN_CAPITALS
    small = sum(not word[0].isupper() for word in later)
    return median >= MEDIAN_WORDS and long >= LONG_WORDS and small >= MOST_SMALL * len(later)


def _is_word(token: str) -> bool:
    if 2 * sum(map(is_unspaced, token)) > len(token):
        return True
    return len(token) > 1 and all(part.isalpha() for part in re.split(r"['’-]", _without_marks(token)) if part)


def _without_marks(token: str) -> str:
    """A token without combining marks, which are no letters to `str.isalpha`."""
    return token if token.isascii() else "".join(c for c in token if not unicodedata.category(c).startswith("M"))


def _length(word: str) -> float:
    return max(1.0, sum(map(is_unspaced, word)) / UNSPACED_WORD)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Patterns of a word, of a run of characters of scripts without blanks, and of a symbol."""
    apart = {code for first, last in (*UNSPACED, *SELECTORS) for code in range(first, min(last, LAST) + 1)}
    word, symbol = [], []
    for code in range(LAST + 1):
        category = unicodedata.category(chr(code))
        if category[0] in "LNM" and code not in apart:
            word.append(code)
        elif category == "So":
            symbol.append(code)
    return tuple(  # type: ignore[return-value]
        re.compile(f"[{_ranges(ranges)}]{repeated}")
        for ranges, repeated in ((_runs(word), "+"), (UNSPACED, "+"), (_runs(symbol), ""))
    )


def _runs(codes: Sequence[int]) -> list[tuple[int, int]]:
    """The ranges that sorted codes consist of."""
    ends = np.flatnonzero(np.diff(codes) > 1).tolist()
    firsts, lasts = [codes[0], *(codes[end + 1] for end in ends)], [*(codes[end] for end in ends), codes[-1]]
    return list(zip(firsts, lasts))


def _ranges(ranges: Iterable[tuple[int, int]]) -> str:
    """Ranges of characters as they are written in a class of a regular expression."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
