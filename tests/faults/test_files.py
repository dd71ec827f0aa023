"""Every file that a run writes, damaged in six ways: its readers report it or repair it, and the tables come back."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.faults import damage, finished
from tests.faults.finished import SCORE, Finished
from tests.support import forked

TRAIN, REGISTER, REPORT = ("ldep", "train"), ("ldep", "register"), ("ldep", "report")
REPRO = ("dvc", "repro")
Command = tuple[str, ...]


@dataclass(frozen=True)
class Readers:
    """Which commands read the files of a group."""

    pattern: str
    commands: tuple[Command, ...] = ()
    without: tuple[str, ...] = ()
    """Other files that are removed too, because nobody would look at the damaged one beside them."""
    repair: tuple[Command, ...] = ()
    """The commands that write the file anew, if the user has removed it."""
    in_dvc: bool = True
    """Whether `dvc repro` looks at the file. For any other it runs after one kind of damage only."""
    by_hand: bool = False
    """The user puts the file back: nothing can write it anew, or DVC stops at it."""


READERS = (
    Readers("data/own/*", (("ldep", "fetch"), SCORE), by_hand=True),
    Readers("data/decides/*"),
    Readers("data/raw/*", (("ldep", "impute"), ("ldep", "split"))),
    Readers("data/profile/*", (("ldep", "impute"), REPORT)),
    Readers("data/provenance/*", (TRAIN, REGISTER, REPORT)),
    Readers("data/imputed/*.parquet", (TRAIN, REGISTER, REPORT)),
    Readers("data/imputed/*.encoder.json", (REGISTER,)),
    Readers("data/folds/*", (TRAIN, REGISTER, REPORT)),
    Readers("results/*", (REGISTER, REPORT)),
    Readers("metrics/*", (("dvc", "metrics", "show"),)),
    Readers("plots/*", (("dvc", "plots", "show"),)),
    Readers("registry/*", (REPORT, SCORE)),
    Readers("report/*", (("ldep", "publish", "published"),)),
    Readers(".ldep/fits/fit.skops", (TRAIN,), without=("mlflow.db",), repair=(REGISTER,), in_dvc=False),
    Readers(".ldep/fits/*", (TRAIN, REGISTER), in_dvc=False),
    Readers(".ldep/built/*", (TRAIN, REGISTER), in_dvc=False),
    Readers(".ldep/code.json", (("ldep", "check"),), in_dvc=False),
    Readers(".ldep/studies/*", (TRAIN, REGISTER), without=(".ldep/fits",), in_dvc=False),
    Readers(".ldep/signing.key", (("ldep", "keys"), REGISTER), repair=(REGISTER,), in_dvc=False),
    Readers("trusted-keys.json", (SCORE, REGISTER), by_hand=True),
    Readers(".ldep/locks/*", (TRAIN, REGISTER), in_dvc=False),
    Readers(".ldep/answered", (TRAIN, REGISTER), in_dvc=False),
    Readers(".ldep/dvc/*", (("dvc", "status"),), by_hand=True),
    Readers(".dvc/cache/*", (("dvc", "checkout"),), without=("results", "data/folds")),
    Readers(".dvc/tmp/*", (("dvc", "status"),), by_hand=True),
    Readers("dvc.lock", (("dvc", "status"), ("ldep", "publish", "published")), by_hand=True),
    Readers("mlflow.db", (SCORE, REGISTER, TRAIN), repair=(TRAIN, REGISTER), in_dvc=False),
    Readers("mlartifacts/models/REGISTERED/*", (SCORE, REGISTER), in_dvc=False),
    Readers("mlartifacts/*", (TRAIN, REGISTER), in_dvc=False),
)


def readers_of(group: str) -> Readers:
    """The first entry whose pattern the group matches."""
    return next(entry for entry in READERS if fnmatch(group, entry.pattern))


def one_per_group(project: Finished, entry: Readers) -> list[str]:
    """A file of each group that has these readers."""
    files = {finished.group(project.original, name): name for name in finished.written_files(project.original)}
    return [name for group, name in files.items() if readers_of(group) is entry]


@pytest.mark.slow
@pytest.mark.fault
def test_every_written_file_has_an_entry_and_every_entry_a_file(finished_project):
    names = finished.written_files(finished_project.original)
    groups = {finished.group(finished_project.original, name) for name in names}
    assert {readers_of(group) for group in groups} == set(READERS)


@pytest.mark.slow
@pytest.mark.fault
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", damage.KINDS)
@pytest.mark.parametrize("entry", READERS, ids=lambda entry: entry.pattern)
def test_damage_is_reported_or_repaired_and_the_tables_come_back(finished_project, entry, kind):
    problems = []
    for name in one_per_group(finished_project, entry):
        problems += [f"{name}, {kind}: {problem}" for problem in problems_after(finished_project, entry, name, kind)]
    assert not problems, "\n\n".join(problems)


def problems_after(project: Finished, entry: Readers, name: str, kind: str) -> list[str]:
    """Damage one file, run its readers and `dvc repro`, and return what went wrong."""
    project.restore()
    for other in entry.without:
        remove(project.folder / other)
    damage.KINDS[kind](project, name)
    outcomes = [forked.run(project.folder, *command) for command in entry.commands]
    if entry.by_hand:
        outcomes.append(forked.run(project.folder, *REPRO))
        project.restore_file(name)
    if entry.in_dvc or kind == "garbage":
        outcomes.append(must_succeed(project, REPRO))
    if entry.repair:
        outcomes += [forked.run(project.folder, *command) for command in (*entry.repair, SCORE)]
        if any(outcome.code != 0 for outcome in outcomes[-len(entry.repair) - 1 :]):
            remove(project.folder / name)
            outcomes += [must_succeed(project, command) for command in entry.repair]
    outcomes.append(must_succeed(project, SCORE))
    problems = [problem for outcome in outcomes if (problem := problem_of(outcome))]
    return [*problems, *differences(project)]


def must_succeed(project: Finished, command: Command) -> forked.Outcome:
    outcome = forked.run(project.folder, *command)
    if outcome.code != 0:
        return forked.Outcome((*command, "(must succeed)"), None, outcome.text)
    return outcome


def problem_of(outcome: forked.Outcome) -> str | None:
    """What is wrong with the way a command ended: it hung, crashed, or failed without a sentence."""
    told = f"{' '.join(outcome.command)} ended with {outcome.code}:\n{outcome.text[-3000:]}"
    if outcome.code is None or outcome.code < 0 or "Traceback (most recent call last)" in outcome.text:
        return told
    sentence = re.search(r"^(ldep \w+|ERROR): \S.*|^\S+ validation failed", outcome.text, re.MULTILINE)
    return told if outcome.code != 0 and sentence is None else None


def differences(project: Finished) -> list[str]:
    try:
        present, expected = finished.tables(project.folder), finished.tables(project.original)
    except Exception as error:
        return [f"the tables cannot be read: {error!r}"]
    wrong = [key for key in expected if present.get(key) != expected[key]]
    scored = [folder / "scored.csv" for folder in (project.folder, project.original)]
    if scored[0].read_bytes() != scored[1].read_bytes():
        wrong.append("scored.csv")
    return [f"these differ: {', '.join(wrong)}"] if wrong else []


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
