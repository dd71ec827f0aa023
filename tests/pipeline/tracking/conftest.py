"""A tracked project per test file: some files change its runs."""

from __future__ import annotations

from pathlib import Path

import mlflow
import pytest

from tests.support import tracked


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tracked.make(tmp_path_factory.mktemp("tracked"))


@pytest.fixture
def client(root: Path, monkeypatch: pytest.MonkeyPatch) -> mlflow.MlflowClient:
    """A client of that project, which is the working folder."""
    monkeypatch.chdir(root)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    mlflow.set_tracking_uri(f"sqlite:///{root}/mlflow.db")
    return mlflow.MlflowClient()
