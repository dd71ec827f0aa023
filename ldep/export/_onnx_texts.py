"""The terms of texts as part of an ONNX graph.

A text is split into characters, each becomes a number, and TfIdfVectorizer looks for the sequences of numbers that are
terms. Letters that differ in case only have the same number; all characters that belong to no word have the number 0,
so that a word is a sequence between zeros. ONNX itself cannot split a text into characters: the operator Tokenizer is
one that every onnxruntime has since version 1.0, unless it was built without contributed operators. StringNormalizer,
which could change the case, is not used: it fails on machines without the locale en_US.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np

from ldep.export._onnx_model import ROWS, Graph
from ldep.export._program import Column, Letters, Reading, Term

BLANKS = "".join(chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace())
NO_WORD, OTHER_LETTER, FIRST_KNOWN = 0, 1, 2


def quoted(text: str) -> str:
    """Quote a text for a regular expression of RE2."""
    return "".join(letter if letter.isalnum() else rf"\x{{{ord(letter):x}}}" for letter in text)


def add_terms(graph: Graph, texts: str, column: Column, reading: Reading | None) -> str:
    """Add one number per term of a column: 1 if the text contains it, else 0, and NaN where the cell is missing."""
    assert reading is not None
    n_terms = 1 + max(term.place for term in column.terms)
    tokens = graph.node("Tokenizer", texts, mark=0, mincharnum=1, pad_value="", tokenexp="(?s).")
    tokens = graph.declare(tokens, np.dtype(object), [ROWS, 1, f"characters_{tokens}"])
    characters = graph.node("Squeeze", tokens, graph.constant([1]))
    in_words = [term for term in column.terms if term.kind != "part"]
    parts = [term for term in column.terms if term.kind == "part"]
    found = []
    if in_words:
        numbers = _numbered(in_words)
        known = _lookup(graph, characters, numbers, reading.letters)
        apart = "".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in reading.letters.apart)
        is_letter = graph.node("RegexFullMatch", characters, pattern=r"[\pL\pN\pM]")
        is_apart = graph.node("RegexFullMatch", characters, pattern=f"[{apart}]")
        other = graph.node("And", is_letter, graph.node("Not", is_apart))
        other = graph.node("Cast", other, to=graph.onnx.TensorProto.INT64)  # OTHER_LETTER or NO_WORD
        row = graph.node("Where", graph.node("Less", known, graph.constant(FIRST_KNOWN)), other, known)
        row = graph.node("Pad", row, graph.constant([0, 1, 0, 1]), graph.constant(NO_WORD))
        sequences = {
            (
                NO_WORD,
                *(numbers[letter] for letter in term.text),
                *([NO_WORD] if term.kind == "word" else []),
            ): term.place
            for term in in_words
        }
        found.append(_sought(graph, row, sequences, n_terms))
    if parts:
        numbers = _numbered(parts)
        row = _lookup(graph, characters, numbers, reading.letters)
        row = graph.node("Pad", row, graph.constant([0, 1, 0, 1]), graph.constant(NO_WORD))
        sequences = {tuple(numbers[letter] for letter in term.text): term.place for term in parts}
        found.append(_sought(graph, row, sequences, n_terms))
    contains = found[0] if len(found) == 1 else graph.node("Max", *found)
    contains = graph.node("Cast", contains, to=graph.onnx.TensorProto.DOUBLE)
    none = "|".join(quoted(text) for text in reading.missing)
    is_missing = graph.node("RegexFullMatch", texts, pattern=rf"[{quoted(BLANKS)}]*(?:{none})[{quoted(BLANKS)}]*")
    return graph.node("Where", is_missing, graph.constant(math.nan), contains)


def _numbered(terms: Sequence[Term]) -> dict[str, int]:
    """A number for each character of the terms."""
    letters = sorted({letter for term in terms for letter in term.text})
    return {letter: FIRST_KNOWN + place for place, letter in enumerate(letters)}


def _lookup(graph: Graph, characters: str, numbers: dict[str, int], letters: Letters) -> str:
    """The number of each character, or of the one that it stands for; NO_WORD if it has none."""
    table = {**{other: numbers[same] for other, same in letters.same.items() if same in numbers}, **numbers}
    return graph.lookup(characters, np.array(list(table), dtype=object), list(table.values()), NO_WORD)


def _sought(graph: Graph, row: str, sequences: dict[tuple[int, ...], int], n_terms: int) -> str:
    """One number per term: 1 if one of its sequences is part of the row, else 0."""
    ordered = sorted(sequences, key=lambda sequence: (len(sequence), sequence))
    longest = len(ordered[-1])
    pool: list[int] = []
    starts: list[int] = []
    for length in range(1, longest + 1):
        starts.append(len(pool))
        pool += [number for sequence in ordered if len(sequence) == length for number in sequence]
    # The number of outputs is that of the highest place: a sequence that never occurs keeps it.
    absent = (-1,) * longest
    return graph.node(
        "TfIdfVectorizer",
        row,
        mode="IDF",  # without weights: whether a sequence occurs
        min_gram_length=len(ordered[0]),
        max_gram_length=longest,
        max_skip_count=0,
        ngram_counts=starts,
        ngram_indexes=[*(sequences[sequence] for sequence in ordered), n_terms - 1],
        pool_int64s=[*pool, *absent],
    )
