"""Models are built before anything runs, and once: not again while the entry and the code stay the same."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config import paths
from ldep_pipeline.execution import code_version, model_check
from ldep_pipeline.execution.model_check import check_models
from ldep_pipeline.execution.store import Store
from ldep_pipeline.stages import check, train
from tests.support import tiny


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The classes of the estimators that are built."""
    classes: list[str] = []
    build = model_check.build

    def recorded(path: str, settings: dict[str, Any]) -> Any:
        classes.append(path)
        return build(path, settings)

    monkeypatch.setattr(model_check, "build", recorded)
    return classes


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tiny.prepare(tmp_path)
    tiny.write(tmp_path, models=["svc"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_the_check_has_built_a_stage_does_not_build_again(root, built):
    check.run()
    assert set(built) == {"sklearn.svm.SVC"}
    built.clear()
    train.run("tiny", tiny.checked(models=["svc"]))
    check.run()
    assert built == []


def test_another_entry_is_built_by_the_stage_itself_before_anything_runs(root, built):
    check.run()
    built.clear()
    classifiers = {"svc": {"class": "sklearn.svm.SVC", "params": {"C": -1.0}}}
    with pytest.raises(UserError, match=r"classifiers\.svc: The 'C' parameter of SVC"):
        train.run("tiny", tiny.checked(models=["svc"], classifiers=classifiers))
    assert built == ["sklearn.svm.SVC"]
    assert not (root / "results").exists()


def test_an_edited_class_is_built_again(root, built):
    paths.OWN_MODELS.mkdir()
    module = paths.OWN_MODELS / "mine_only.py"
    module.write_text("from sklearn.naive_bayes import GaussianNB\n\n\nclass Mine(GaussianNB): ...\n")
    params = tiny.checked(models=["mine"], classifiers={"mine": {"class": "mine_only.Mine"}})
    counts = []
    try:
        for _ in range(2):
            for _ in range(2):
                built.clear()
                check_models(params, Store(paths.BUILT))
                counts.append(len(built))
            module.write_text(module.read_text() + "SIZE = 1\n")
            code_version.code_digest.cache_clear()
            code_version.package_version.cache_clear()
            importlib.invalidate_caches()
    finally:
        sys.modules.pop("mine_only", None)
        sys.path.remove(str(paths.OWN_MODELS.resolve()))
    assert [count > 0 for count in counts] == [True, False, True, False]


def test_without_a_store_everything_is_built(root, built):
    for _ in range(2):
        built.clear()
        check_models(tiny.checked(models=["svc"]))
        assert built
