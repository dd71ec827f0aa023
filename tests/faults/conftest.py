"""Finished projects, made once per session; a test that needs one as it was calls `restore`."""

from __future__ import annotations

import pytest

from tests.faults import finished
from tests.faults.finished import Finished


@pytest.fixture(scope="session")
def finished_project(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return finished.make(tmp_path_factory.mktemp("finished"))


@pytest.fixture(scope="session")
def small_project(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return finished.make_small(tmp_path_factory.mktemp("small"))
