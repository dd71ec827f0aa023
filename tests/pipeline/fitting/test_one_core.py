"""One core per fit: also for a library that is loaded between two fits."""

from __future__ import annotations

import sys
from types import ModuleType

import joblib
from threadpoolctl import threadpool_info, threadpool_limits

from pipeline.fitting import one_core as module
from pipeline.fitting.one_core import one_core


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info()}


def test_every_library_has_one_thread_inside_and_its_own_number_outside():
    with threadpool_limits(2):
        for _ in range(2):
            with one_core():
                assert threads() == {1}
                assert joblib.effective_n_jobs(4) == 1
            assert threads() == {2}


def test_libraries_are_searched_for_again_after_an_import_only(monkeypatch):
    searches = []

    class Controller(module.ThreadpoolController):
        def __init__(self) -> None:
            searches.append(len(sys.modules))
            super().__init__()

    monkeypatch.setattr(module, "ThreadpoolController", Controller)
    for _ in range(3):
        with one_core():
            pass
    before = len(searches)
    assert before <= 1  # none if an earlier test has searched
    monkeypatch.setitem(sys.modules, "a_new_module", ModuleType("a_new_module"))
    with one_core():
        pass
    assert len(searches) == before + 1
