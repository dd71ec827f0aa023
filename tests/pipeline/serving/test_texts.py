"""Columns of prose: what their features are, and that files, requests and each form of a model read them alike."""

from __future__ import annotations

import json
import unicodedata

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ldep import LDEPClassifier
from ldep.answers import reading_of, steps_of
from ldep.export import NotExportable, to_c, to_onnx
from ldep.export._onnx import add_terms
from ldep.export._onnx_model import ROWS, Graph
from ldep.table import TableEncoder, Text, cells, columns, kinds, words
from ldep_pipeline.commands.drift import DriftCheck
from ldep_pipeline.data.frames import read_frame
from ldep_pipeline.server import request_format
from ldep_pipeline.serving.portable import program
from ldep_pipeline.serving.served_model import ServedModel
from ldep_pipeline.serving.training_profile import profile_of
from tests.support import tickets
from tests.support.encoders import encoder_for
from tests.support.prose import PROSE

LONG = "the parcel is late " * 60_000  # 1.1 MB


def test_a_file_with_texts_of_several_lines_and_a_long_one_is_read(tmp_path):
    """The csv module alone would refuse quoted cells of more than 131,072 characters."""
    frame = tickets.table(60, 2)
    frame["body"] = frame["body"].str.replace(". ", ".\n") + ' "quoted", and; more'
    frame.loc[3, "body"] = LONG
    frame.to_csv(tmp_path / "table.csv", index=False)
    read = read_frame(tmp_path / "table.csv", tickets.TARGET)
    assert read["body"].astype(str).tolist() == [text.strip() for text in frame["body"]]
    decisions = {decision.name: decision for decision in kinds.decide(read)}
    assert decisions["body"].kind == "text"
    _, encoder = fitted()
    expected = encoder.transform(frame[["body"]])
    np.testing.assert_array_equal(encoder.transform(read), expected)
    sent = request_format.read(frame[["body"]].to_csv(index=False).encode(), request_format.CSV, ["body"])
    np.testing.assert_array_equal(encoder.transform(sent[0].frame(0, len(frame))), expected)


def fitted() -> tuple[pd.DataFrame, TableEncoder]:
    frame = tickets.table(200, seed=2)[["body"]]
    frame.loc[::9, "body"] = None
    frame["body"] = pd.Categorical(frame["body"])
    return frame, encoder_for(frame).fit(frame)


def test_features_say_which_words_a_text_contains():
    frame, encoder = fitted()
    labels = encoder.get_feature_names_out().tolist()
    assert labels[-1] == "body:missing"
    assert set(encoder.source_columns) == {"body"}
    rows = encoder.transform(pd.DataFrame({"body": ["INVOICES — invoice", "", None, "n/a", "nothing known xyzzy", 5]}))
    known = labels.index("body ‘invoic…’")
    assert rows[0].sum() == rows[0, known] == 1.0
    np.testing.assert_array_equal(rows[1:4, :-1], np.tile(encoder.fill_[:-1], (3, 1)))  # a missing text takes the means
    assert rows[:, -1].tolist() == [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    loaded = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    np.testing.assert_array_equal(loaded.transform(frame), encoder.transform(frame))


def test_the_same_text_gives_the_same_numbers_however_it_is_stored():
    frame, encoder = fitted()
    expected = encoder.transform(frame)
    objects = frame.astype(object).where(frame.notna(), None)
    np.testing.assert_array_equal(encoder.transform(objects), expected)
    np.testing.assert_array_equal(encoder.transform(objects.astype("string")), expected)
    np.testing.assert_array_equal(
        np.vstack([encoder.transform(objects.iloc[[row]]) for row in range(20)]), expected[:20]
    )
    with pytest.raises(ValueError, match=r"row 1, column 'body': \['a'\] is neither a number nor text"):
        encoder.transform(pd.DataFrame({"body": ["a", ["a"]]}))


@pytest.mark.parametrize(
    ("terms", "message"),
    [([], "0 different ones"), (["a", "a"], "1 different"), (["Delivered"], "is not a term"), ([1], "not a string")],
)
def test_a_recipe_that_was_changed_is_refused(terms, message):
    with pytest.raises(ValueError, match=message):
        columns.from_json({"name": "x", "kind": "text", "indicator": False, "terms": terms})


def served(n_classes: int) -> tuple[ServedModel, pd.DataFrame]:
    """A model of tickets with two texts, a category, a number, and a text in several scripts."""
    frame = tickets.table(240, n_classes, seed=3)
    generator = np.random.default_rng(0)
    y = frame.pop(tickets.TARGET).to_numpy()
    frame["size"] = generator.normal(size=len(frame))
    frame["colour"] = pd.Categorical(generator.choice(["red", "blue", "green"], len(frame)))
    frame["mixed"] = [*PROSE["Chinese"], *PROSE["Hindi"], *PROSE["German"], *(f"Ёлка é{k % 9} 🙂" for k in range(96))]
    frame.loc[::11, "body"] = None
    for name in ("subject", "body", "mixed"):
        frame[name] = pd.Categorical(frame[name])
    encoder = encoder_for(frame, {"subject": "text", "body": "text", "mixed": "text"}).fit(frame)
    X = encoder.transform(frame)
    scaler = StandardScaler().fit(X)
    model = LDEPClassifier(2, 2, random_state=0).fit(scaler.transform(X), y)
    return ServedModel(Pipeline([("encode", encoder), ("scale", scaler), ("model", model)]), None), frame


ODD = [
    "",
    " ",
    "NA",
    "?",
    "...",
    "ORDER, order",
    "Cafe\u0301 É9 é9",
    "订单iPhone",
    "坏",
    "हिन्दी नहीं आया",
    "ёлка ЁЛКА\u00a0🙂",
]
ODD += [
    "a" * 5000,
    "x\ty\nz",
    "❤️invoice",
    "Rechnung/Lieferung",
    "ORDER_number",
    "ordering",
    "e\u0301",
    "123 456",
    "İnvoice",
]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_onnx_reads_texts_as_python_does(n_classes):
    model, frame = served(n_classes)
    rows = frame.iloc[: len(ODD)].astype(object).assign(mixed=ODD, body=ODD[::-1], subject=ODD)
    rows = pd.concat([rows, frame.iloc[100:140].astype(object)])
    session = onnxruntime.InferenceSession(
        to_onnx(program(model)).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    named = session.get_modelmeta().custom_metadata_map
    assert json.loads(named["texts"]) == ["colour", "subject", "body", "mixed"]
    sent = rows[json.loads(named["texts"])].where(rows.notna(), "").to_numpy(object)
    for part in (slice(None), slice(0, 1), slice(5, 6)):
        inputs = {"texts": sent[part], "numbers": rows[json.loads(named["numbers"])].to_numpy(float)[part]}
        answers = dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs)))
        X = model.numbers(rows.iloc[part])
        explanation = model.explain(X)
        np.testing.assert_allclose(answers["decision"], model.score(X)[1], rtol=0, atol=1e-11)
        np.testing.assert_allclose(answers["contributions"], explanation.contributions, rtol=0, atol=1e-11)
        assert answers["label"].tolist() == [model.classes[number] for number in model.class_numbers(X)]


LETTERS = [
    *"aAbBcC éÉßẞſKÅİıΣσςжЖ0 9_-'.,\n",
    "\u00a0",
    "订",
    "单",
    "カ",
    "ｶ",
    "ก",
    "่",
    "🙂",
    "❤",
    "\ufe0f",
    "\u200d",
    "म",
    "ि",
]
LETTERS += ["½", "Ⅷ", "ⅷ", "Ǆ", "ﬁ", "\U00010400", "\U00010428", "가", "ᄀ", "ᅡ", "\u0301"]


def test_onnx_finds_the_terms_of_any_composed_text():
    """Words, parts and symbols in all companies; a cell that is a number is written as usual in Python only."""
    generator = np.random.default_rng(0)
    texts = ["".join(generator.choice(LETTERS, size=size)) for size in generator.integers(0, 14, 1000)]
    texts = [unicodedata.normalize("NFC", text) for text in texts]
    texts = [text for text in texts if not isinstance(cells.read(text), float)]
    known = Text("x", tuple(term.text for term in words.frequent(texts, [1] * len(texts), len(texts), 300)))
    column, _ = steps_of(known)
    graph = Graph()
    found = add_terms(graph, graph.input("texts", np.dtype(object), [ROWS, 1]), column, reading_of([column]))
    graph.output(found, "found", np.float64, [ROWS, len(known.terms)])
    content = graph.model("terms", "", {}).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (answers,) = session.run(None, {"texts": np.array(texts, dtype=object)[:, None]})
    np.testing.assert_array_equal(answers, known.codes(pd.Series(texts, dtype=object)))
    assert np.isnan(answers).any()
    assert 0.01 < np.nanmean(answers) < 0.5


def test_texts_about_something_else_have_drifted():
    frame, encoder = fitted()
    check = DriftCheck(encoder, profile_of(encoder, frame))
    check.add(tickets.table(200, seed=9)[["body"]])
    (same,) = check.result()
    assert not [reason for reason in same.reasons if "known words" in reason]
    check = DriftCheck(encoder, profile_of(encoder, frame))
    check.add(pd.DataFrame({"body": [f"Lorem ipsum dolor sit amet {number}" for number in range(200)]}))
    (other,) = check.result()
    assert "known words" in other.reasons[0]


def test_c_and_the_page_say_that_they_cannot_read_texts():
    model, _ = served(2)
    with pytest.raises(NotExportable, match="The column 'subject' is a text, which only ONNX can read"):
        to_c(program(model), "tickets")


def test_an_explanation_names_the_words_of_a_text():
    model, frame = served(2)
    rows = frame.astype(object).iloc[1:4]
    answers, _ = model.answer(rows, {"output": "full"})
    X = model.numbers(rows)
    columns_ = model.explain(X).contributions[:, model.columns.index("body")]
    body = next(column for column in model.encoder.fitted_ if column.name == "body")
    assert isinstance(body, Text)
    for row, (answer, total) in enumerate(zip(answers, columns_)):
        shares = answer["explanation"]["words"]["body"]
        assert {word.rstrip("…") for word in shares} == words.terms_of(rows["body"].iloc[row]) & set(body.terms)
        assert list(shares.values()) == sorted(shares.values(), key=lambda share: -abs(share))
        assert answer["explanation"]["contributions"]["body"] == total


def test_long_cells_and_a_text_of_numbers_are_read():
    _, encoder = fitted()
    contains = encoder.transform(pd.DataFrame({"body": [LONG, LONG.replace(" ", "x"), "12345"]}))
    assert contains[0].sum() > 0
    assert contains[1].sum() == 0


def test_a_counterfactual_keeps_texts():
    model, frame = served(2)
    answers, _ = model.answer(frame.astype(object).iloc[:2], {"output": "counterfactual", "seconds": 2.0})
    for answer in answers:
        assert set(answer["counterfactual"].get("changes", {})) <= {"size", "colour"}
