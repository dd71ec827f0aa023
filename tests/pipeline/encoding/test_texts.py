"""Columns of prose: which are recognised, what their features are, and that each form of a model reads them alike."""

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
from ldep.export import NotExportable, to_c, to_onnx
from ldep_pipeline.config.params import Data
from ldep_pipeline.data import catalogue, sources
from ldep_pipeline.data.cells import words
from ldep_pipeline.data.frames import read_frame
from ldep_pipeline.data.kinds import MOST_TERMS, ColumnError, decide
from ldep_pipeline.encoding import columns
from ldep_pipeline.encoding.columns import Text
from ldep_pipeline.encoding.encoder import RawEncoder
from ldep_pipeline.server import request_format
from ldep_pipeline.serving.portable import program
from ldep_pipeline.serving.served_model import ServedModel
from tests.support import churn, registered, tickets
from tests.support.encoders import encoder_for

LONG = "the parcel is late " * 60_000  # 1.1 MB


def column(strings: list[str | None]) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Categorical(strings)})


def sentences(seed: int, rows: int = 120) -> list[str]:
    return list(tickets.table(rows, seed=seed)["body"])


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


PROSE = {
    "tickets": sentences(0),
    "capitals": [f"{text} {text}".upper() for text in sentences(1)],
    "German": [
        f"Die {thing} ist seit {day} nicht da, bitte melden Sie sich {how} bei mir."
        for thing in ("Rechnung", "Lieferung", "Ware", "Antwort")
        for day in ("Montag", "gestern", "drei Wochen", "Mai")
        for how in ("bald", "heute", "per Post")
    ],
    "Chinese": [
        f"你好,我的{thing}{problem},请{wish}。谢谢你们的帮助"
        for thing in ("订单", "包裹", "发票", "账户")
        for problem in ("没有收到", "有错误", "已经坏了", "不见了")
        for wish in ("尽快处理", "联系我", "退款给我")
    ],
    "Hindi": [
        f"मेरा {thing} अभी तक {problem} है कृपया {wish} दें"
        for thing in ("पार्सल", "बिल", "खाता", "आदेश")
        for problem in ("नहीं आया", "गलत", "बंद", "खोया हुआ")
        for wish in ("जल्दी जवाब", "पैसे वापस", "नया भेज")
    ],
}
FIRST = ["Anna", "Maria", "José", "Li", "Olga", "Jean-Luc", "Ahmed", "Chloë", "Bob", "Eve", "Ivan", "Noor"]
LAST = ["García Márquez", "da Silva Santos", "Müller", "O'Brien", "van der Berg", "Smith", "Nguyễn", "de la Cruz"]
rng = np.random.default_rng(0)
NOT_PROSE = {
    "names": [f"{first} {last}" for first in FIRST for last in LAST],
    "names in small letters": [f"{first} {last}".lower() for first in FIRST for last in LAST],
    "companies": [f"{last} & {first} Trading {form}" for last in LAST for first in FIRST for form in ("Ltd", "AG")],
    "addresses": [f"{place} {last} Street, New {first} City, UK" for place, last in enumerate(LAST) for first in FIRST],
    "titles": [f"The {a} of the {b} {c}" for a in ("Lord", "Fall", "Rise") for b in FIRST for c in ("Kings", "Queens")],
    "codes": [f"AB-{number:04d}-XY" for number in range(100)],
    "identifiers with words": [f"order number {number} of customer {number * 7}" for number in range(100)],
    "hashes": [rng.bytes(8).hex() for _ in range(100)],
    "uuids": [f"{rng.bytes(4).hex()}-{rng.bytes(2).hex()}-{rng.bytes(6).hex()}" for _ in range(100)],
    "links": [f"https://example.com/a/page/about/some/thing-{number}?of=the&kind=that" for number in range(100)],
    "addresses of mail": [f"{first}.{last}@example.com".lower().replace(" ", ".") for first in FIRST for last in LAST],
    "paths": [f"/home/user/{first}/some file of {number}.txt" for number, first in enumerate(FIRST * 9)],
    "dates": list(pd.date_range("2020-01-01", periods=100).strftime("%A, %d %B %Y")),
    "JSON": [json.dumps({"id": number, "name": "a", "is": True}) for number in range(100)],
    "random words": ["".join(rng.choice(list("abcdefghij"), 8)) + " " + rng.bytes(3).hex() for _ in range(100)],
    "many categories": [f"other administrative support workers of grade {number % 40}" for number in range(1000)],
    "Chinese names": [first + last for first in "王李张刘陈杨黄赵吴周" for last in ("伟", "芳", "秀英", "娜", "敏")],
}  # fmt: skip


@pytest.mark.parametrize("name", PROSE)
def test_prose_is_recognised(name):
    (decision,) = decide(column(PROSE[name]))
    assert decision.kind == "text", decision
    assert len(decision.recipe["terms"]) >= words.FEWEST_TERMS
    assert "words" in decision.remarks[0]


@pytest.mark.parametrize("name", NOT_PROSE)
def test_names_codes_and_categories_are_not_prose(name):
    (decision,) = decide(column(NOT_PROSE[name]))
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
        assert "text" not in {decision.kind for decision in decide(table)}


def test_a_file_with_texts_of_several_lines_and_a_long_one_is_read(tmp_path):
    """The csv module alone would refuse quoted cells of more than 131,072 characters."""
    frame = tickets.table(60, 2)
    frame["body"] = frame["body"].str.replace(". ", ".\n") + ' "quoted", and; more'
    frame.loc[3, "body"] = LONG
    frame.to_csv(tmp_path / "table.csv", index=False)
    read = read_frame(tmp_path / "table.csv", tickets.TARGET)
    assert read["body"].astype(str).tolist() == [text.strip() for text in frame["body"]]
    decisions = {decision.name: decision for decision in decide(read)}
    assert decisions["body"].kind == "text"
    _, encoder = fitted()
    expected = encoder.transform(frame[["body"]])
    np.testing.assert_array_equal(encoder.transform(read), expected)
    sent = request_format.read(frame[["body"]].to_csv(index=False).encode(), request_format.CSV, ["body"])
    np.testing.assert_array_equal(encoder.transform(sent[0].frame(0, len(frame))), expected)


def test_two_texts_are_no_copies_of_each_other():
    """All strings of both columns differ, so that both have the same pattern of repetitions."""
    first, second = sentences(0), sentences(1)
    rows = [row for row in range(120) if first.index(first[row]) == row and second.index(second[row]) == row]
    frame = pd.DataFrame(
        {"a": pd.Categorical([first[row] for row in rows]), "b": pd.Categorical([second[row] for row in rows])}
    )
    assert [decision.kind for decision in decide(frame)] == ["text", "text"]
    assert [decision.drop for decision in decide(frame)] == [None, None]
    copied = decide(frame.assign(b=frame["a"]))
    assert copied[1].drop == "it says the same as the column 'a'"


def test_dates_and_spelled_numbers_without_repetitions_are_no_copies_of_each_other():
    days = pd.date_range("2020-01-01", periods=60).strftime("%d.%m.%Y")
    frame = pd.DataFrame({"day": pd.Categorical(days), "price": pd.Categorical([f"{k},50" for k in range(60)])})
    frame = frame.iloc[np.argsort(frame["day"].cat.codes.to_numpy())]  # both in the order of their strings
    frame["price"] = pd.Categorical(sorted(frame["price"]))
    assert [decision.drop for decision in decide(frame)] == [None, None]


def test_params_decide_otherwise():
    frame = column(sentences(0))
    assert decide(frame, {"x": "drop"})[0].recipe is None
    assert decide(frame, {"x": "frequency"})[0].recipe["encoding"] == "frequency"
    names = column(NOT_PROSE["names"])
    assert decide(names, {"x": "text"})[0].recipe["terms"][0] == "berg"  # of equally frequent words the first
    with pytest.raises(ColumnError, match="no word is in 3 of its texts"):
        decide(column(NOT_PROSE["hashes"]), {"x": "text"})
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
    chosen = {decision.name: decision.recipe["terms"] for decision in decide(frame, wanted)}
    assert sum(map(len, chosen.values())) == MOST_TERMS
    assert min(map(len, chosen.values())) >= MOST_TERMS // 6
    assert decide(frame, wanted) == decide(frame, wanted)


def fitted() -> tuple[pd.DataFrame, RawEncoder]:
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
    loaded = RawEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
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
