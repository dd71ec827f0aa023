"""`ldep explore`: one page that opens offline; in a real browser its numbers are Python's."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import nnls

from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.export import Program
from ldep_pipeline.commands import explore
from ldep_pipeline.commands.main import main
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.serving.portable import program
from ldep_pipeline.serving.served_model import ServedModel
from tests.support import random_models, registered

CHROMIUM = shutil.which("chromium")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is missing; .ci/run installs it if it may")
# Answers rows of raw cells, then sets the controls as a user does, and reads what the page shows.
ANSWER = """<script>
  const rows = @ROWS@;
  const answers = rows.map((row) => {
    const now = model.answer(row), found = nearest(model, row, columns.map((column) => column.categories === null));
    return {decision: now.decision, probability: now.probability, bias: now.bias, shares: now.shares,
      distance: found && found.distance, flipped: found && model.answer(found.cells).class !== now.class};
  });
  const chosen = rows.slice(0, 30).map((row) => {
    const found = nearest(model, row, columns.map(() => true));
    return found && {distance: found.distance, proven: found.proven,
      flipped: model.answer(found.cells).class !== model.answer(row).class};
  });
  const typed = rows.slice(0, 20).map((row) => {
    row.forEach((cell, f) => {
      const input = document.getElementById(`cell-${f}`);
      if (isDate(f)) { set(f, cell); return; }
      input.value = cell === null ? "" : cell;
      input.dispatchEvent(new Event(columns[f].categories === null ? "input" : "change"));
    });
    return document.getElementById("class").textContent;
  });
  const began = performance.now();
  setAll(typical);
  const milliseconds = performance.now() - began;
  const root = document.documentElement, fits = root.scrollWidth <= root.clientWidth;
  const seen = JSON.stringify({answers, chosen, typed, milliseconds, fits, width: root.scrollWidth});
  document.body.append(Object.assign(document.createElement("p"), {id: "seen", textContent: seen}));
</script>"""


def in_browser(text: str, rows: list[list[float | None]], folder: Path, width: int = 500) -> dict:
    script = ANSWER.replace("@ROWS@", json.dumps(rows))
    (folder / "page.html").write_text(text.replace("</body>", script + "</body>"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    options += [f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900", "--dump-dom"]
    command = [str(CHROMIUM), *options, f"file://{folder / 'page.html'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(re.findall(r'<p id="seen">(.*?)</p>', done.stdout)[-1])


def codes(served: ServedModel, seed: int, count: int, shape: tuple[int, ...]) -> tuple[np.ndarray, list]:
    """Rows as the numbers that the model sees, and as the cells of the page: codes, and null for missing cells."""
    frame = random_models.rows(np.random.default_rng(seed), count, *shape)
    by_column, _ = served.encoder.read_cells(frame)
    raw = np.column_stack([by_column[name] for name in served.columns])
    return served.numbers(frame), [[None if np.isnan(cell) else cell for cell in row] for row in raw.tolist()]


def shortest(model: Program, z: np.ndarray, free: np.ndarray, positive: bool) -> float:
    """The distance to the other class for a single model: least-distance programs by scipy's NNLS."""
    groups = np.split(np.arange(len(model.offsets)), [model.sizes[0, 0]])
    own, others = groups if positive else groups[::-1]
    scores, best = model.slopes @ z + model.offsets, np.inf
    sign = -1 if positive else 1
    for piece in own:
        A = (model.slopes[piece] - model.slopes[others])[:, free]
        b = scores[others] - scores[piece] + sign * model.thresholds[0]
        u, residual = nnls(np.vstack([A.T, b]), np.append(np.zeros(free.sum()), 1.0))
        if residual > 1e-9:
            r = np.vstack([A.T, b]) @ u - np.append(np.zeros(free.sum()), 1.0)
            best = min(best, float(np.linalg.norm(r[:-1] / r[-1])))
    return best


def free_features(model: Program, row: list[float | None]) -> np.ndarray:
    """The features that the page may change: numbers, unless their gap is a feature."""
    marked = {feature.column for feature in model.features if feature.step == "missing" and row[feature.column] is None}
    return np.array(
        [
            model.columns[feature.column].read == "number" and feature.step == "value" and feature.column not in marked
            for feature in model.features
        ]
    )


@needs_browser
@pytest.mark.browser
@pytest.mark.parametrize(
    ("kind", "encode"),
    [("single", None), ("refit", None), ("votes", None), ("single", "auto"), ("votes", "frequency")],
)
def test_a_browser_computes_what_python_computes(kind, encode, tmp_path):
    shape = (5, 3) if encode is None else (4, 3, 2)
    served = random_models.served(np.random.default_rng(3), kind, *shape, encode=encode)
    model = program(served)
    X, rows = codes(served, 4, 200, shape)
    seen = in_browser(explore.page(model, "random"), rows, tmp_path)
    positive, decision = served.score(X)
    explanation = served.explain(X)
    answers = seen["answers"]
    for name, expected in (
        ("decision", decision),
        ("probability", served.probability(X, decision)[:, 1]),
        ("bias", explanation.bias),
        ("shares", explanation.contributions),
    ):
        got = np.array([answer[name] for answer in answers])
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10, err_msg=name)
    assert seen["typed"] == [served.classes[int(sign)] for sign in positive[:20]]
    assert seen["fits"], f"a phone must scroll sideways: {seen['width']} pixels"
    assert seen["milliseconds"] < 100
    distances = [answer["distance"] for answer in answers]
    assert all(answer["flipped"] for answer in answers if answer["distance"] is not None)
    if kind != "votes":
        Z = served.rest[:-1].transform(X) - model.center
        best = np.array(
            [shortest(model, z, free_features(model, row), sign) for z, row, sign in zip(Z, rows, positive)]
        )
        got = np.array([np.inf if distance is None else distance for distance in distances])
        np.testing.assert_allclose(got, best, rtol=1e-5, atol=1e-7)
    else:
        assert sum(distance is not None for distance in distances) > 100


@needs_browser
@pytest.mark.browser
@pytest.mark.parametrize("kind", ["single", "hinge", "votes"])
def test_a_browser_computes_more_than_two_classes(kind, tmp_path):
    shape = (4, 2)
    estimator = {
        "single": LDEPClassifier(3, 3, random_state=0),
        "hinge": LDEPClassifier(3, 3, loss="hinge", probability=True, random_state=0),
        "votes": LDEPClassifierCV(pieces=[(2, 2)], alphas=[0.1, 1.0], penalties=["norm"], random_state=0),
    }[kind]
    served = random_models.served_of_classes(np.random.default_rng(3), estimator, *shape)
    model = program(served)
    X, rows = codes(served, 4, 100, shape)
    seen = in_browser(explore.page(model, "three classes"), rows, tmp_path)
    numbers, values = served.score(X)
    explanation = served.explain(X)
    ordered = np.sort(values, axis=1)
    probability = served.probability(X, values)[np.arange(len(X)), numbers]
    answers = seen["answers"]
    for name, expected in (
        ("decision", ordered[:, -1] - ordered[:, -2]),
        ("probability", probability),
        ("bias", explanation.bias),
        ("shares", explanation.contributions),
    ):
        got = np.array([answer[name] for answer in answers])
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10, err_msg=name)
    assert seen["typed"] == [str(served.classes[number]) for number in numbers[:20]]
    found = [answer for answer in answers if answer["distance"] is not None]
    assert len(found) > 90
    assert all(answer["flipped"] for answer in found)


@needs_browser
@pytest.mark.browser
@pytest.mark.parametrize("encode", [None, "one_hot"])
def test_choices_change_as_in_python(encode, tmp_path):
    """A row that the page calls the nearest is; another one is not nearer than it."""
    shape = (3, 2)
    served = random_models.served(np.random.default_rng(8), "single", *shape, encode=encode)
    _, rows = codes(served, 9, 30, shape)
    seen = in_browser(explore.page(program(served), "random"), rows, tmp_path)
    frame = random_models.rows(np.random.default_rng(9), 30, *shape)
    numbers = [name for name, kind in served.encoder.kinds.items() if kind == "numeric"]
    answers = served.predict(frame, {"output": "counterfactual", "seconds": 60, "beyond": numbers})
    proven = 0
    for found, answer in zip(seen["chosen"], answers, strict=True):
        distance = answer["counterfactual"].get("distance", np.inf)
        if found is None:
            continue
        assert found["flipped"]
        assert found["distance"] >= distance * (1 - 1e-6)
        if found["proven"]:
            proven += 1
            assert found["distance"] == pytest.approx(distance, rel=1e-5, abs=1e-6)
    assert proven > 20


LIMITED = """<script>
  document.getElementById("levers").open = true;
  const rows = @ROWS@;
  const numeric = columns.map((column) => column.read === "number");
  const seen = rows.map((row) => {
    setAll(row);
    controls.forEach(({way}) => { if (way !== null) way.value = "up"; });
    document.getElementById("most").value = "1";
    showCounterfactual();
    const changed = near === null ? [] : columns.flatMap((_, c) => (near.cells[c] !== row[c] ? [c] : []));
    return {proven: near && near.proven, flipped: near && model.answer(near.cells).class !== model.answer(row).class,
      changed: changed.map((c) => ({column: columns[c].name, numeric: numeric[c], from: row[c], to: near.cells[c]})),
      menu: document.getElementById("menu").rows.length};
  });
  document.body.append(Object.assign(document.createElement("p"), {id: "seen", textContent: JSON.stringify(seen)}));
</script>"""


@needs_browser
@pytest.mark.browser
@pytest.mark.parametrize("classes", [2, 3])
def test_the_nearest_change_keeps_to_what_a_person_sets(classes, tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    if classes == 2:
        served, shape = random_models.served(rng, "single", 3, 1), (3, 1)
    else:
        model = LDEPClassifierCV(pieces=[(2, 2)], alphas=[0.1], max_fits=5, random_state=0)
        served, shape = random_models.served_of_classes(rng, model, 3, 1), (3, 1)
    _, rows = codes(served, 4, 15, shape)
    ranges = served.encoder.ranges_
    monkeypatch.setattr(f"{__name__}.ANSWER", LIMITED)
    seen = in_browser(explore.page(program(served), "limits", None, ranges), rows, tmp_path)
    moved = 0
    for one in seen:
        assert len(one["changed"]) <= 1
        assert one["menu"] == len(served.columns)
        for change in one["changed"]:
            moved += 1
            assert one["flipped"]
            if change["numeric"] and change["from"] is not None:
                assert change["to"] >= change["from"]
                assert change["to"] <= max(ranges[change["column"]].largest, change["from"])
    assert moved


def test_the_page_loads_nothing_and_no_text_ends_its_script():
    served = random_models.served(np.random.default_rng(0), "votes", 2, 2)
    model = program(served)
    hostile = "</script><img src=x onerror=alert(1)>"
    model.columns[0] = replace(model.columns[0], name=hostile)
    text = explore.page(model, hostile)
    assert hostile not in text
    assert not re.search(r"(src|href)=|https?://|@import|fetch\(", text.replace(r"img src=x", ""))


def test_large_models_are_stored_with_seven_digits():
    model = program(random_models.served(np.random.default_rng(0), "single", 4, 0))
    assert explore.as_json(model, {})["bits"] == 64
    assert explore.as_json(replace(model, slopes=np.zeros((400, 100))), {})["bits"] == 32


def test_the_command_writes_the_page_of_a_registered_model(registered_project, tmp_path):
    uri = f"models:/ldep-{registered.NAME}@champion"
    with registered.inside(registered_project):
        assert main(["explore", uri, "-o", str(tmp_path / "page.html")]) == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 300_000
    assert uri in text
    assert "If all of these hold, the class is" in text
    assert "größe (cm)" in text.partition("<pre>")[2].partition("</pre>")[0]


def test_errors_say_what_to_do(registered_project, tmp_path):
    uri = f"models:/ldep-{registered.BASELINE}@champion"
    with pytest.raises(UserError, match=r"page\.txt: the page is an \.html file"):
        explore.run(uri, tmp_path / "page.txt", registered_project)
    with pytest.raises(UserError, match="cannot be explored: SVC cannot be exported"):
        explore.run(uri, tmp_path / "page.html", registered_project)
    assert not list(tmp_path.iterdir())
