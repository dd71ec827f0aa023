"""`ldep export`: the file answers raw rows as the registered model does, and errors say what to do."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from ldep_pipeline.commands import export
from ldep_pipeline.commands.main import main
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.registry import download, signatures
from ldep_pipeline.serving import mlflow_folder, portable
from tests.support import c_program, registered

URI = f"models:/ldep-{registered.NAME}@champion"
BASELINE = f"models:/ldep-{registered.BASELINE}@champion"


def onnx_answers(path: Path, frame) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    columns = session.get_modelmeta().custom_metadata_map
    inputs = {
        "numbers": frame[json.loads(columns["numbers"])].to_numpy(np.float64),
        "texts": frame[json.loads(columns["texts"])].fillna("").to_numpy(object),
    }
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs)))


def test_onnx_gives_the_answers_of_the_registered_model(registered_project, tmp_path, capsys):
    with registered.inside(registered_project):
        assert main(["export", URI, "-o", str(tmp_path / "model.onnx")]) == 0
    frame = registered.rows(300, seed=3)
    answers = onnx_answers(tmp_path / "model.onnx", frame)
    records = download.load(URI, registered_project).predict(frame, {"output": "full"})
    assert answers["label"].tolist() == [record["class"] for record in records]
    decisions = [record["decision"] for record in records]
    np.testing.assert_allclose(answers["decision"], decisions, rtol=0, atol=1e-9)
    shares = [list(record["explanation"]["contributions"].values()) for record in records]
    np.testing.assert_allclose(answers["contributions"], shares, rtol=0, atol=1e-9)


def test_the_registered_folder_has_the_same_onnx_file_and_it_is_signed(registered_project, tmp_path):
    export.run(URI, tmp_path / "model.onnx", root=registered_project)
    with download.checked_copy(URI, registered_project) as folder:
        manifest = json.loads((folder / signatures.MANIFEST).read_text())
        assert mlflow_folder.ONNX_FILE in manifest["files"]
        frame = registered.rows(50, seed=4)
        exported, stored = (
            onnx_answers(path, frame) for path in (tmp_path / "model.onnx", folder / mlflow_folder.ONNX_FILE)
        )
    np.testing.assert_array_equal(exported["decision"], stored["decision"])
    with download.checked_copy(BASELINE, registered_project) as folder:  # an SVC
        assert not (folder / mlflow_folder.ONNX_FILE).exists()


@pytest.mark.skipif(c_program.compiler() is None, reason="gcc is missing; .ci/run installs it if it may")
def test_the_c_header_gives_the_answers_of_the_registered_model(registered_project, tmp_path):
    export.run(URI, tmp_path / "any.name", "c", root=registered_project)
    served = download.load(URI, registered_project)
    model = portable.program(served)
    c_program.build(model, tmp_path)
    (tmp_path / "model.h").write_bytes((tmp_path / "any.name").read_bytes())
    frame = registered.rows(300, seed=3)
    answers = c_program.answers(c_program.compiled((tmp_path / "main.c").read_text(), tmp_path), model, frame)
    positive, decision = served.score(served.numbers(frame))
    np.testing.assert_array_equal(answers["class"], positive)
    np.testing.assert_allclose(answers["decision"], decision, rtol=0, atol=1e-9)


def test_errors_say_what_to_do(registered_project, tmp_path, monkeypatch):
    for target, form, uri, message in [
        ("model.txt", None, URI, r"model.txt: name the file .onnx or .h, or choose --format"),
        (".", "onnx", URI, r"is a folder; name the file"),
        ("model.onnx", None, BASELINE, r"is not exported: SVC cannot be exported; LDEPClassifier"),
        ("model.onnx", None, "models:/ldep-none@champion", r"there is no model models:/ldep-none@champion"),
    ]:
        with pytest.raises(UserError, match=message):
            export.run(uri, tmp_path / target, form, root=registered_project)
    monkeypatch.setitem(sys.modules, "onnx.helper", None)
    with pytest.raises(UserError, match=r"install ldep\[onnx\], or onnx itself. The format c needs nothing."):
        export.run(URI, tmp_path / "model.onnx", root=registered_project)
    assert not list(tmp_path.iterdir())
