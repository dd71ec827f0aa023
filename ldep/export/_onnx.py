"""A program as an ONNX file: the steps from raw cells to features, and the whole.

Most text cells are spelled as a category was declared, and one table finds them. Only the others are read: numbers by
their value, words without the blanks around them. Where a column declares equal numbers as different categories, their
spellings are words too. What is then still unknown is missing, as in Python. Two spellings are not understood, and
count as missing: numbers with an exponent beyond 289 (with more than 16 digits beyond 99, and none with more than 100
digits), which onnxruntime might refuse to convert, and numbers after a blank that is not ASCII.

A text is split into characters, each becomes a number, and TfIdfVectorizer looks for the sequences of numbers that are
terms. Letters that differ in case only have the same number; all characters that belong to no word have the number 0,
so that a word is a sequence between zeros. ONNX itself cannot split a text into characters: the operator Tokenizer is
one that every onnxruntime has since version 1.0, unless it was built without contributed operators. StringNormalizer,
which could change the case, is not used: it fails on machines without the locale en_US.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ldep.export._onnx_model import ROWS, Graph, ModelSteps
from ldep.export._program import DATE_PARTS, Column, Feature, Letters, Program, Reading, Term, fitted_model, program_of

BLANKS = "".join(chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace())
NO_WORD, OTHER_LETTER, FIRST_KNOWN = 0, 1, 2

NUMBERS, TEXTS, DATES = "numbers", "texts", "dates"
INPUTS = {NUMBERS: ("number",), TEXTS: ("category", "text"), DATES: ("date",)}
"""The inputs of a file, and the steps that read the columns of each."""
DOCUMENTATION = """\
A linear dilation-erosion perceptron. Outputs, one entry per row: label; decision, not negative for the second class;
probabilities of the two classes; and contributions, which sum to the decision value with the bias. With more than two
classes: decision and probabilities have one column per class, and the contributions sum with the bias to the lead of
the label over the rival, the second best class."""
ROWS_DOCUMENTATION = """
Inputs: `numbers`, the cells of the numeric columns as doubles, NaN where a cell is missing; `texts`, the cells of the
nominal columns and of texts, empty where a cell is missing; and `dates`, the seconds since 2000-01-01 00:00 of the
cells of date columns as doubles, NaN where a cell is missing. The metadata name the columns of each in their order, and
those of the contributions."""


class ExportMixin:
    """Adds `to_onnx` to an ℓ-DEP."""

    classes_: np.ndarray

    def to_onnx(self, *, contributions=True):
        """Write the model as ONNX, in double precision.

        The ONNX model has the input X, a table of doubles without missing values, and the outputs label, decision,
        probabilities (if the model has `predict_proba`), contributions and bias (those of `explain`). With more
        than two classes, decision has one column per class, and rival is the class that the contributions compare the
        label with. Any onnxruntime since 1.17 runs it.

        Parameters
        ----------
        contributions : bool, default=True
            Whether contributions and bias are among the outputs. Without them the model is faster.

        Returns
        -------
        model : onnx.ModelProto
            The ONNX model; `model.SerializeToString()` is the content of a file.
        """
        check_is_fitted(self)
        return to_onnx(program_of(fitted_model(self), self.classes_), contributions=contributions)


def to_onnx(program: Program, *, contributions: bool = True) -> Any:
    """Return the ONNX model. A kind of column that the program does not use is no input."""
    graph, metadata = Graph(), {"classes": program.classes.tolist()}
    if program.columns:
        X, documentation = add_features(graph, program), DOCUMENTATION + ROWS_DOCUMENTATION
        for name, steps in INPUTS.items():
            metadata[name] = [column.name for column in program.read_as(*steps)]
        metadata["features"] = [column.name for column in program.columns]
    else:
        X, documentation = graph.input("X", np.float64, [ROWS, program.n_features]), DOCUMENTATION
    ModelSteps(graph, program, X).add_outputs(contributions)
    texts = {name: json.dumps(value, ensure_ascii=False) for name, value in metadata.items()}
    return graph.model("ldep", documentation, texts)


def add_features(graph: Graph, program: Program) -> str:
    """Add the inputs and what turns them into features."""
    columns = {step: program.read_as(step) for step in ("number", "category", "date", "text")}
    tables: list[str] = []
    places: dict[tuple[str, str], int] = {}
    if columns["number"]:
        tables.append(graph.input(NUMBERS, np.float64, [ROWS, len(columns["number"])]))
    strings = columns["category"] + columns["text"]
    if strings:
        texts = graph.input(TEXTS, np.dtype(object), [ROWS, len(strings)])
    if columns["category"]:
        nominal = texts if not columns["text"] else _columns_of(graph, texts, range(len(columns["category"])))
        tables.append(add_numbers(graph, nominal, columns["category"], program.reading))
    for column in columns["number"] + columns["category"]:
        places[column.name, "value"] = len(places)
    if columns["date"]:
        moments = graph.input(DATES, np.float64, [ROWS, len(columns["date"])])
        for part, values in _date_parts(graph, moments).items():
            tables.append(values)
            for column in columns["date"]:
                places[column.name, part] = len(places)
    for place, column in enumerate(columns["text"], start=len(columns["category"])):
        tables.append(add_terms(graph, _columns_of(graph, texts, [place]), column, program.reading))
        for number in range(1 + max(term.place for term in column.terms)):
            places[column.name, f"contains {number}"] = len(places)
    numbers = tables[0] if len(tables) == 1 else graph.node("Concat", *tables, axis=1)
    order = [
        places[program.columns[feature.column].name, _number_for(feature, program)] for feature in program.features
    ]
    if order != list(range(len(places))):
        numbers = graph.node("Gather", numbers, graph.constant(order), axis=1)
    return _made_and_filled(graph, program, numbers)


def _columns_of(graph: Graph, table: str, places: Sequence[int]) -> str:
    return graph.node("Gather", table, graph.constant(list(places)), axis=1)


def _number_for(feature: Feature, program: Program) -> str:
    """Which number of its column a feature is made from. Whether a cell is missing can be seen from any of them."""
    if feature.step in DATE_PARTS:
        return feature.step
    if feature.step == "contains":
        return f"contains {int(feature.equals)}"
    return {"date": DATE_PARTS[0], "text": "contains 0"}.get(program.columns[feature.column].read, "value")


def _made_and_filled(graph: Graph, program: Program, numbers: str) -> str:
    """The steps of the features: compare, mark, fill and standardise."""
    node, constant, steps = graph.node, graph.constant, program.of_features("step")
    missing = node("IsNaN", numbers)
    X, filled = numbers, missing
    if "equals" in steps:
        same = node("Equal", numbers, constant(program.of_features("equals")))
        X = node("Where", constant(steps == "equals"), node("Cast", same, to=graph.onnx.TensorProto.DOUBLE), X)
    if "missing" in steps:
        marks = node("Cast", missing, to=graph.onnx.TensorProto.DOUBLE)
        X = node("Where", constant(steps == "missing"), marks, X)
        filled = node("And", missing, constant(steps != "missing"))
    X = node("Where", filled, constant(program.of_features("fill")), X)
    centred = node("Sub", X, constant(program.of_features("mean")))
    return node("Div", centred, constant(program.of_features("scale")))


def _date_parts(graph: Graph, moments: str) -> dict[str, str]:
    """The parts of dates, one table of all columns each, by arithmetic in the proleptic Gregorian calendar."""

    def floor(value: str, divisor: float) -> str:
        return graph.node("Floor", graph.node("Div", value, graph.constant(float(divisor))))

    def times(value: str, factor: float) -> str:
        return graph.node("Mul", value, graph.constant(float(factor)))

    def plus(first: str, second: str | float) -> str:
        return graph.node("Add", first, second if isinstance(second, str) else graph.constant(float(second)))

    def minus(first: str, second: str) -> str:
        return graph.node("Sub", first, second)

    days = floor(moments, 86_400)
    shifted = plus(days, 730_425)
    era = floor(shifted, 146_097)
    day_of_era = minus(shifted, times(era, 146_097))
    leaps = plus(minus(floor(day_of_era, 1460), floor(day_of_era, 36_524)), floor(day_of_era, 146_096))
    year_of_era = floor(minus(day_of_era, leaps), 365)
    before = minus(plus(times(year_of_era, 365), floor(year_of_era, 4)), floor(year_of_era, 100))
    march_month = floor(plus(times(minus(day_of_era, before), 5), 2), 153)
    in_next_year = floor(march_month, 10)
    from_monday = plus(days, 5)
    return {
        "year": plus(plus(times(era, 400), year_of_era), in_next_year),
        "month": minus(plus(march_month, 3), times(in_next_year, 12)),
        "weekday": minus(from_monday, times(floor(from_monday, 7), 7)),
        "days": days,
        "hour": graph.node("Div", minus(moments, times(days, 86_400)), graph.constant(3600.0)),
    }


ASCII_BLANKS = "".join(blank for blank in BLANKS if blank in " \t\n\v\f\r")


def quoted(text: str) -> str:
    """Quote a text for a regular expression of RE2."""
    return "".join(letter if letter.isalnum() else rf"\x{{{ord(letter):x}}}" for letter in text)


def _decimal(digits: int, exponent: str) -> str:
    mantissa = rf"(?:[0-9]{{1,{digits}}}\.?[0-9]{{0,{digits}}}|\.[0-9]{{1,{digits}}})"
    return rf"{mantissa}(?:[eE][+-]?0*(?:{exponent}))?"


DECIMAL = f"(?:{_decimal(16, '[0-9]{1,2}|1[0-9]{2}|2[0-8][0-9]')}|{_decimal(100, '[0-9]{1,2}')})"
NUMBER = rf"[{quoted(ASCII_BLANKS)}]*[+-]?{DECIMAL}[{quoted(BLANKS)}]*"
INFINITY = r"(?i:inf|infinity)"
UNKNOWN = -1


class _Identities(NamedTuple):
    """What the cells of all columns may be: numbers, words, and texts of numbers that are categories of their own.

    `number` numbers them. `values` are the numbers of the texts of the last kind.
    """

    number: dict[float | str, int]
    values: dict[str, float]


def add_numbers(graph: Graph, texts: str, columns: Sequence[Column], reading: Reading | None) -> str:
    """Add the numbers of the cells of nominal columns, a table of doubles with NaN for missing cells."""
    assert reading is not None
    tables: list[dict[float | str, int]] = []
    known = _Identities({}, {})
    for column in columns:
        table: dict[float | str, int] = {}
        for text, value, category in column.spellings:
            key = text if value is None or value in table else value
            if key is text and value is not None:
                known.values[text] = value
            table[key] = category
            known.number.setdefault(key, len(known.number))
        tables.append(table)
    # A spelling that is a category of one column still stands for its value in the others.
    for text, value in known.values.items():
        for table in tables:
            if value in table:
                table.setdefault(text, table[value])
    identified = _identify(graph, texts, columns, known, reading)
    # One table for all columns: the key of a value in column q is its number times the number of columns, plus q.
    scaled = graph.node("Mul", identified, graph.constant(len(columns)))
    keys = graph.node("Add", scaled, graph.constant(np.arange(len(columns))))
    numbers = {
        known.number[value] * len(columns) + place: column.numbers[category]
        for place, (column, table) in enumerate(zip(columns, tables))
        for value, category in table.items()
    }
    return graph.lookup(keys, list(numbers), list(numbers.values()), math.nan)


def _identify(graph: Graph, texts: str, columns: Sequence[Column], known: _Identities, reading: Reading) -> str:
    """The number of what each cell reads as; the number of all of them if it is none."""
    declared = [(text, value) for column in columns for text, value, _ in column.spellings]
    spellings = dict.fromkeys(["", *reading.missing], len(known.number))
    for text, value in [*declared, *reading.words.items()]:
        key = text if text in known.number or value is None else value
        if key in known.number:
            spellings[text] = known.number[key]
    found = graph.lookup(texts, np.array(list(spellings), dtype=object), list(spellings.values()), UNKNOWN)
    unknown = graph.node("Less", found, graph.constant(0))
    some = graph.node("Less", graph.node("ReduceMin", found, keepdims=0), graph.constant(0))
    shape = [ROWS, len(columns)]
    as_found, read = Graph("found_"), Graph("read_")
    return graph.node(
        "If",
        some,
        then_branch=read.branch(_read(read, texts, found, unknown, known, reading), np.int64, shape),
        else_branch=as_found.branch(as_found.node("Identity", found), np.int64, shape),
    )


def _read(graph: Graph, texts: str, found: str, unknown: str, known: _Identities, reading: Reading) -> str:
    """Read the cells that no declared spelling matches."""
    places = graph.node("Transpose", graph.node("NonZero", unknown))
    unread = graph.node("GatherND", texts, places)
    is_number = graph.node("RegexFullMatch", unread, pattern=NUMBER)
    numerals = graph.node("Where", is_number, unread, graph.constant(np.array("nan", dtype=object)))
    numbers = graph.node("Cast", numerals, to=graph.onnx.TensorProto.DOUBLE)
    numbers = graph.node("Add", numbers, graph.constant(0.0))  # so that -0 is 0
    finite = {value: number for value, number in known.number.items() if not isinstance(value, str)}
    finite = {value: number for value, number in finite.items() if math.isfinite(value)}
    none = len(known.number)
    result = graph.lookup(numbers, [math.nan, *finite], [none, *finite.values()], none)
    for pattern, number in _patterns(known, reading).items():
        matches = graph.node("RegexFullMatch", unread, pattern=rf"[{quoted(BLANKS)}]*(?:{pattern})[{quoted(BLANKS)}]*")
        result = graph.node("Where", matches, graph.constant(number), result)
    return graph.node("ScatterND", found, places, result)


def _patterns(known: _Identities, reading: Reading) -> dict[str, int]:
    """Patterns of what is not found by its number."""
    number = known.number
    words = {quoted(key): number[key] for key in number if isinstance(key, str) and key not in known.values}
    words |= {text: number[value] for text, value in reading.words.items() if value in number}
    for infinity, sign in ((math.inf, r"\+?"), (-math.inf, "-")):
        if infinity in number:
            words[sign + INFINITY] = number[infinity]
    # Last, so that a spelling prevails over its value.
    return words | {quoted(text): number[text] for text in known.values}


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
