"""Served models with random numbers, and raw rows with gaps and unusual spellings; only the encoder is fitted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ldep.table import Nominal
from ldep_pipeline.serving import calibration
from ldep_pipeline.serving.served_model import ServedModel
from tests.support.encoders import encoder_for
from tests.support.fitted_models import classifier

CATEGORIES = ["red", "two words", "größe", "1", "2.50", "TRUE", 'say "x"??/', "a\\b", "a, b", "x\ty"]
SPELLINGS = ["red", " red ", "Red", "two words", "two  words", "größe\u00a0", "1", "01", "+1.0", "1e0", "true", "2.5"]
SPELLINGS += [
    "2.50",
    "25e-1",
    "TRUE",
    'say "x"??/',
    "a\\b",
    "a, b",
    "x\ty",
    "",
    "NA",
    "?",
    " nan",
    "inf",
    "other",
    "1_0",
]


DATE_FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%Y-%m-%d %H:%M:%S")
ODD_DATES = [
    "",
    "NA",
    "2024-02-30",
    " 2024-2-9 ",
    "yesterday",
    "2024-02-29T23:59:59+02:00",
    "2024-02-29T1:30Z",
    "1.1.1",
]
ODD_DATES += ["31.12.1999 23:59", "0001-01-01", "9999-12-31", "29 feb 2024", "30 Fex 2024", "20240229", "12/31/2023"]


def rows(rng: np.random.Generator, count: int, n_numeric: int, n_nominal: int, n_dates: int = 0) -> pd.DataFrame:
    """Raw cells: numbers with gaps, texts in unusual spellings, and dates. The kinds of columns alternate."""
    columns: dict[str, Any] = {}
    for k in range(n_numeric):
        values = rng.normal(size=count) * 10.0 ** (k % 7 - 3)
        values[rng.random(count) < 0.2] = np.nan
        columns[f"{2 * k} größe (cm)"] = values
    for k in range(n_nominal):
        columns[f"{2 * k + 1} colour"] = rng.choice(np.array(SPELLINGS, dtype=object), size=count)
    for k in range(n_dates):
        texts = np.array(_dates(rng, count, k), dtype=object)
        odd = rng.random(count) < 0.3
        texts[odd] = rng.choice(np.array(ODD_DATES, dtype=object), size=odd.sum())
        columns[f"{2 * k + 1} since"] = texts
    return pd.DataFrame({name: columns[name] for name in sorted(columns)})


def _dates(rng: np.random.Generator, count: int, form: int) -> list[str]:
    moments = pd.Timestamp("1960-01-01") + pd.to_timedelta(rng.integers(0, 4 * 10**9, count), unit="s")
    return list(moments.strftime(DATE_FORMS[form % len(DATE_FORMS)]))


def served(
    rng: np.random.Generator, kind: str, n_numeric: int, n_nominal: int, n_dates: int = 0, encode: Any = None
) -> ServedModel:
    """A served model; its encoder is fitted on random rows, in which one numeric column may be empty."""
    frame = rows(rng, 50, n_numeric, n_nominal, n_dates)
    for name in frame.columns:
        if "colour" in name:
            frame[name] = pd.Categorical(rng.choice(CATEGORIES, size=50), categories=CATEGORIES)
            if encode is not None and rng.random() < 0.5:
                frame.loc[::7, name] = np.nan
        if "since" in name:
            frame[name] = pd.Categorical(_dates(rng, 50, int(name.split()[0]) // 2))
    if n_numeric > 1 and rng.random() < 0.5:
        frame.iloc[:, 0] = np.nan
    encoder = encoder_for(frame, encode).fit(frame)
    if encode == "one_hot":  # as if there were many categories
        rare = [replace(c, rare=c.categories[:3]) if isinstance(c, Nominal) else c for c in encoder.fitted_]
        encoder._set_columns(rare)
        kept = len(encoder.labels_)
        encoder.fill_, encoder.kept_ = rng.random(kept).tolist(), [True] * kept
        encoder.mean_, encoder.scale_ = [0.0] * kept, [1.0] * kept
    X = encoder.transform(frame)
    pipe = Pipeline(
        [("encode", encoder), ("scale", StandardScaler().fit(X)), ("model", classifier(rng, X.shape[1], kind))]
    )
    return ServedModel(pipe, calibration.Calibration(1.7, (-0.3,)))


def served_of_classes(rng: np.random.Generator, estimator: Any, n_numeric: int, n_nominal: int) -> ServedModel:
    """A served model of three classes, fitted on random rows."""
    train = rows(rng, 90, n_numeric, n_nominal)
    for name in train.columns:
        if "colour" in name:
            train[name] = pd.Categorical(rng.choice(CATEGORIES, size=90))
    y = np.array(["a", "b", "c"])[np.arange(90) % 3]
    steps = [("encode", encoder_for(train, None)), ("scale", StandardScaler()), ("model", estimator)]
    return ServedModel(Pipeline(steps).fit(train, y), calibration.Calibration(1.3, (0.2, -0.3, 0.1)))
