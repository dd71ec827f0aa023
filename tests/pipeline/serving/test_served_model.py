"""How a served model is stored: no pickle, trusted types only, and the same answers after loading."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.pipeline import Pipeline, make_pipeline

from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.table import TableEncoder
from ldep_pipeline.config import params
from ldep_pipeline.fitting import models
from ldep_pipeline.fitting.specs import Impute
from ldep_pipeline.serving import calibration, served_model
from ldep_pipeline.stages import impute
from tests.support import registered, tiny

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("model", "calibrated"),
    [
        (LDEPClassifier(), False),
        (LDEPClassifier(probability=True), False),  # the logistic loss has nothing to fit
        (LDEPClassifier(loss="hinge", probability=True), True),
        (LDEPClassifierCV(), True),
    ],
)
def test_probabilities_are_calibrated_if_they_were_fitted_to_unseen_rows(model, calibrated):
    assert served_model.is_calibrated(model) == calibrated


def test_a_type_that_is_not_on_the_list_is_neither_stored_nor_loaded(tmp_path):
    model = tiny.FailsOnFold().fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ValueError, match=r"tests\.support\.tiny\.FailsOnFold, not on the list"):
        served_model.save(tmp_path, model, None)
    content = skops.io.dumps(model)
    (tmp_path / served_model.PIPELINE).write_bytes(content)
    facts = {
        "ldep": served_model.installed_version(),
        "sha256": hashlib.sha256(content).hexdigest(),
        "link": None,
        "threshold": 0.0,
        "sets": None,
    }
    (tmp_path / served_model.DESCRIPTION).write_text(json.dumps(facts))
    with pytest.raises(served_model.UnusableModel, match="FailsOnFold"):
        served_model.load(tmp_path)


# Those of other packages (the extra `peers`) hold types that nobody has reviewed.
STORABLE = [
    name
    for name, entry in params.load(ROOT / "params.yaml").classifiers.items()
    if entry.class_.split(".")[0] in ("ldep", "sklearn")
]


@pytest.mark.parametrize("model", STORABLE)
def test_every_classifier_of_ours_and_of_scikit_learn_can_be_stored_and_answers_the_same(model, tmp_path):
    values = params.load(ROOT / "params.yaml")
    frame = registered.rows(60).astype({"grade": "category", "colour": "category"})
    numbers, encoder = impute.impute(frame)
    entry = values.classifiers[model]
    chosen = {"r1": 2, "r2": 2} if entry.class_ == "ldep.LDEPClassifier" else {}
    pipe = models.pipeline(entry, models.settings_for(entry, chosen, 60, 4), values.impute, 0)
    pipe.fit(numbers.iloc[:, :-1].to_numpy(), frame["sold"].to_numpy(dtype=str))
    whole = Pipeline([("encode", encoder), *pipe.steps])
    served_model.save(tmp_path, whole, calibration.Calibration(1.0, (0.0,)))
    loaded = served_model.load(tmp_path)
    made = served_model.ServedModel(whole, calibration.Calibration(1.0, (0.0,)))
    assert loaded.predict(frame, {"output": "full"}) == made.predict(frame, {"output": "full"})


@pytest.mark.parametrize("classes", [2, 3])
def test_the_models_of_a_self_tuning_model_vote_once_per_answer(classes, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 2)), columns=["a", "b"])
    y = np.digitize(frame["a"] + frame["b"], [-0.5, 0.5][: classes - 1]).astype(str)
    pipe = make_pipeline(TableEncoder(None), LDEPClassifierCV(random_state=0))
    served = served_model.ServedModel(pipe.fit(frame, y), None)
    probability = pipe.predict_proba(frame)
    votes = []
    count = LDEPClassifierCV._tau

    def counted(model, X):
        votes.append(len(X))
        return count(model, X)

    monkeypatch.setattr(LDEPClassifierCV, "_tau", counted)
    answers = served.predict(frame, {"output": "scores"})
    assert votes == [90]
    shares = [list(answer["probability"].values()) for answer in answers]
    np.testing.assert_allclose(shares, probability, rtol=1e-12)
    assert [answer["class"] for answer in answers] == pipe.predict(frame).tolist()


def test_a_self_tuning_model_answers_with_its_own_probabilities_and_an_exact_explanation(tmp_path):
    """They are fitted to rows that the voting models had not seen, and the larger one is that of the answer."""
    frame = registered.rows(90).astype({"grade": "category", "colour": "category"})
    numbers, encoder = impute.impute(frame)
    entry = tiny.checked().classifiers["ldep_cv"]
    pipe = models.pipeline(entry, entry.params, Impute(), 0)
    X = numbers.iloc[:, :-1].to_numpy()
    pipe.fit(X, frame["sold"].to_numpy(dtype=str))
    served_model.save(tmp_path, Pipeline([("encode", encoder), *pipe.steps]), None)
    answers = served_model.load(tmp_path).predict(frame, {"output": "full"})
    for answer, probabilities in zip(answers, pipe.predict_proba(X), strict=True):
        assert list(answer["probability"].values()) == pytest.approx(probabilities.tolist(), abs=1e-12)
        assert max(answer["probability"], key=answer["probability"].get) == answer["class"]
        explanation = answer["explanation"]
        shares = sum(explanation["contributions"].values()) + explanation["bias"]
        assert shares == pytest.approx(answer["decision"], abs=1e-9)
