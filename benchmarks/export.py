"""Exported models on raw rows with gaps and texts: are the answers those of Python, and how fast is one row?

For each data set, the single ℓ-DEP and the ensemble are fitted on all rows, behind the encoder and the scaler, as
`ldep register` does. A tenth of all cells is then removed at random, and the rows are answered by Python, by ONNX and
by the C header.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import data
from benchmarks.report import Report
from ldep import LDEPClassifier, LDEPClassifierCV
from ldep.export import INPUTS, Program, identifiers, to_c, to_onnx
from ldep.solvers import single_thread
from ldep.table import TableEncoder
from ldep_pipeline.commands import explore
from ldep_pipeline.config.params import Data
from ldep_pipeline.data import catalogue, sources
from ldep_pipeline.serving import calibration, portable
from ldep_pipeline.serving.served_model import ServedModel, is_calibrated

GAPS = 0.1  # share of the cells that are removed
ROWS = 1000  # compared per data set, at most
MODELS = {
    "single": LDEPClassifier(random_state=0),
    "ensemble": LDEPClassifierCV(max_fits=25, random_state=0),
}
WIDEST = 500  # features, above which the ensemble would take too long to fit
MAIN = Path(__file__).parent / "export_main.c"
FLAGS = ("-std=c99", "-O3", "-march=native")


def served(name: str, model: Any) -> tuple[ServedModel, pd.DataFrame]:
    """Return a fitted model for raw rows of a data set, and some of these rows with gaps."""
    frame, _ = sources.fetch(catalogue.entry(name), Data())
    raw, target = frame.iloc[:, :-1], frame.iloc[:, -1]
    encoder = TableEncoder(None, scale=False).fit(raw)
    rest = Pipeline([("scale", StandardScaler()), ("model", model)])
    with warnings.catch_warnings(), single_thread():
        warnings.simplefilter("ignore")
        X, y = encoder.transform(raw), target.astype(str).to_numpy()
        rest.fit(X, y)
    sigmoid = None
    if not is_calibrated(model):
        sigmoid = calibration.fit_sigmoid(rest.decision_function(X), y == rest.classes_[1])
    rng = np.random.default_rng(0)
    rows = raw.iloc[rng.permutation(len(raw))[:ROWS]].astype(object).reset_index(drop=True)
    rows = rows.mask(rng.random(rows.shape) < GAPS)
    return ServedModel(Pipeline([("encode", encoder), *rest.steps]), sigmoid), rows


def median_time(call: Callable[[], object], repeats: int) -> float:
    """Return the median time of a call in microseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * float(np.median(times))


def inputs(session: onnxruntime.InferenceSession, rows: pd.DataFrame) -> dict[str, np.ndarray]:
    columns = session.get_modelmeta().custom_metadata_map
    parts = {}
    for part in session.get_inputs():
        frame = rows[json.loads(columns[part.name])]
        is_text = "text" in INPUTS[part.name]
        parts[part.name] = frame.fillna("").astype(str).to_numpy(object) if is_text else frame.to_numpy(np.float64)
    return parts


def open_session(model: Program, contributions: bool) -> tuple[onnxruntime.InferenceSession, int]:
    """Return a session with one thread, and the size of the file."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    content = to_onnx(model, contributions=contributions).SerializeToString()
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"]), len(content)


def run_c(model: Program, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, float, int]:
    """Return the classes, the decision values, the microseconds per row and the size of the header."""
    known = identifiers(column.name for column in model.columns)
    readers = [
        "ldep_number" if column.read == "number" else f"ldep_encode_{known[column.name]}" for column in model.columns
    ]
    nominal = ["0" if column.read == "number" else "1" for column in model.columns]
    source = MAIN.read_text(encoding="utf-8").replace("@READERS@", ", ".join(readers))
    with tempfile.TemporaryDirectory() as scratch:
        header = Path(scratch, "model.h")
        header.write_text(to_c(model, "benchmark"), encoding="utf-8")
        Path(scratch, "main.c").write_text(source.replace("@NOMINAL@", ", ".join(nominal)), encoding="utf-8")
        program = Path(scratch, "program")
        subprocess.run(["gcc", *FLAGS, "-o", program, Path(scratch, "main.c"), "-lm"], check=True)
        cells = rows[[column.name for column in model.columns]].to_numpy(object).ravel()
        sent = b"".join(text(cell).encode() + b"\0" for cell in cells)
        lines = subprocess.run([program], input=sent, capture_output=True, check=True).stdout.decode().splitlines()
        size = header.stat().st_size
    table = np.array([line.split() for line in lines[:-1]], dtype=np.float64)
    return table[:, 0].astype(int), table[:, 1], float(lines[-1].split()[0]) / 1000, size


def text(cell: object) -> str:
    if isinstance(cell, str):
        return cell
    return "" if cell is None or cell != cell else repr(float(cell))  # type: ignore[arg-type]


def measure(name: str, kind: str) -> dict[str, Any]:
    python, rows = served(name, MODELS[kind])
    model = portable.program(python)
    X = python.numbers(rows)
    positive, decision = python.score(X)
    explained, onnx_size = open_session(model, contributions=True)
    plain, _ = open_session(model, contributions=False)
    label, onnx_decision = explained.run(["label", "decision"], inputs(explained, rows))
    c_class, c_decision, c_time, c_size = run_c(model, rows)
    one = rows.iloc[[0]]
    cells = inputs(plain, one)
    with single_thread():
        times = {
            "onnx_us": median_time(lambda: plain.run(None, cells), 2000),
            "onnx_explained_us": median_time(lambda: explained.run(None, cells), 2000),
            "c_us": c_time,
            "python_us": median_time(lambda: python.predict(one), 50),
        }
    return {
        "dataset": name,
        "model": kind,
        "columns": len(model.columns),
        "nominal": len(model.read_as("category")),
        "pieces": len(model.offsets),
        "labels_differ": int(np.sum(label != np.array(python.classes, object)[positive.astype(int)]))
        + int(np.sum(c_class != positive)),
        "onnx_error": float(np.abs(onnx_decision - decision).max()),
        "c_error": float(np.abs(c_decision - decision).max()),
        **times,
        "onnx_kb": onnx_size / 1000,
        "c_kb": c_size / 1000,
        "page_kb": len(explore.page(model, name).encode()) / 1000,
    }


def run(names: tuple[str, ...] = data.NAMES) -> Report:
    measured = []
    for name in names:
        wide = catalogue.entry(name).features > WIDEST
        for kind in ("single",) if wide else MODELS:
            measured.append(measure(name, kind))
            print(measured[-1], file=sys.stderr)
    return describe(pd.DataFrame(measured))


def describe(table: pd.DataFrame) -> Report:
    report = Report("export", "Exported models: ONNX and C against Python")
    single = table[table["model"] == "single"]
    differ = int(table["labels_differ"].sum())
    report.claim("labels that differ from Python's, all rows and models", differ, "0", differ == 0)
    for kind, column in (("ONNX", "onnx_error"), ("C", "c_error")):
        error = float(table[column].max())
        report.claim(f"largest difference of a decision value, {kind}", error, "<= 1e-9", error <= 1e-9)
    targets = {"onnxruntime": ("onnx_us", 30), "C": ("c_us", 2)}
    for frame, kind in ((single, "single model"), (table[table["model"] == "ensemble"], "ensemble")):
        for name, (column, target) in targets.items():
            for word, value in (("median", frame[column].median()), ("slowest", frame[column].max())):
                claim = f"microseconds per row, {name}, {kind}, {word} data set"
                report.claim(claim, float(value), f"<= {target}", bool(value <= target))
        report.claim(f"microseconds per row, Python, {kind}, median", frame["python_us"].median(), "(stated)", True)
    narrow = table[table["columns"] < 100]
    page = float(narrow["page_kb"].max())
    report.claim("largest page of `ldep explore` below 100 features, kB", page, "<= 300", page <= 300)
    report.note(
        f"Raw rows of {table['dataset'].nunique()} data sets, at most {ROWS} per data set, with {GAPS:.0%} of their "
        "cells removed. `single` is `LDEPClassifier()`, `ensemble` is `LDEPClassifierCV(max_fits=25)`, both fitted on "
        f"all rows. There is no ensemble for data sets with more than {WIDEST} features."
    )
    report.note(
        "One row at a time on one thread, with the request at hand as arrays: for onnxruntime the call `session.run` "
        "from Python with the outputs label, decision and probabilities (`onnx_explained_us`: contributions and bias "
        "too); for C `ldep_predict`, including the encoding of texts, compiled with "
        f"`{' '.join(FLAGS)}`; for Python `ServedModel.predict` on a data frame. Times are medians on a machine that "
        "was also busy."
    )
    report.table("models", table)
    return report
