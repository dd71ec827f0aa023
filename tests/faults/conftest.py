"""Finished projects, made once per session, and what the run of the harness says at its end.

A test that needs a finished project as it was calls `restore`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.faults import finished
from tests.faults.finished import Finished


@pytest.fixture(scope="session")
def finished_project(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return finished.make(tmp_path_factory.mktemp("finished"))


@pytest.fixture(scope="session")
def small_project(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return finished.make_small(tmp_path_factory.mktemp("small"))


CROWNED = "crowned"  # the property in which a test says which model was registered, and why
OUTCOMES = ("passed", "failed", "error", "skipped")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the cases of each file of the harness, and say what was crowned."""
    reports = [(outcome, report) for outcome in OUTCOMES for report in terminalreporter.stats.get(outcome, [])]
    counts = Counter((report.nodeid.partition("::")[0], outcome) for outcome, report in reports)
    files = sorted({file for file, _ in counts if file.startswith("tests/faults/")})
    if not files:
        return
    terminalreporter.section("cases of the fault harness")
    for file in files:
        shown = ", ".join(f"{counts[file, outcome]} {outcome}" for outcome in OUTCOMES if counts[file, outcome])
        terminalreporter.write_line(f"{file}: {shown}")
    for said in _properties(reports, CROWNED):
        terminalreporter.write_line(said)


def _properties(reports: list[tuple[str, pytest.TestReport]], wanted: str) -> Iterator[str]:
    for _, report in reports:
        yield from (str(value) for name, value in report.user_properties if name == wanted)
