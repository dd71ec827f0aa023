"""A sample of the fault harness, for `make test`: a few damaged files, and a few ways to plant foreign code."""

from __future__ import annotations

import pytest

from tests.faults import damage, test_files, test_tampering
from tests.faults.finished import NAME, SCORE
from tests.support import forked

pytestmark = pytest.mark.fault
REGISTER, TRAIN = test_files.REGISTER, test_files.TRAIN


@pytest.mark.parametrize(
    ("name", "kind", "commands"),
    [
        (f"data/raw/{NAME}.parquet", "other shape", [("ldep", "impute"), ("ldep", "fetch"), ("ldep", "impute")]),
        (f"data/imputed/{NAME}.parquet", "cut", [TRAIN, ("ldep", "impute"), TRAIN]),
        (f"data/folds/{NAME}.csv", "garbage", [TRAIN, ("ldep", "split"), TRAIN]),
        (f"results/{NAME}/results.csv", "cut", [REGISTER, TRAIN, REGISTER]),
        (f"results/{NAME}/decisions.parquet", "missing", [TRAIN, REGISTER]),
        (f"data/imputed/{NAME}.encoder.json", "other shape", [("ldep", "impute"), REGISTER]),
        (".ldep/answered", "garbage", [TRAIN, REGISTER]),
        (".ldep/signing.key", "cut", [("ldep", "keys"), REGISTER]),
        ("trusted-keys.json", "cut", [SCORE, REGISTER]),
        ("mlflow.db", "cut", [SCORE, REGISTER]),
    ],
)
def test_a_damaged_file_is_reported_or_repaired(small_project, name, kind, commands):
    small_project.restore()
    damage.KINDS[kind](small_project, name)
    outcomes = [forked.run(small_project.folder, *command) for command in commands]
    assert not [problem for outcome in outcomes if (problem := test_files.problem_of(outcome))]
    if outcomes[-1].code != 0:  # nothing can write the file anew: the sentence says to put it back
        small_project.restore_file(name)
    assert forked.run(small_project.folder, *SCORE).code == 0
    assert test_files.differences(small_project) == []


@pytest.mark.parametrize(
    "name", ["another loader", "everything but the key", "the name of the key", "another location", "no reason"]
)
def test_no_foreign_code_runs(small_project, name):
    small_project.restore()
    test_tampering.TAMPERS[name](small_project)
    problems = [test_tampering.check(small_project, *command) for command in (SCORE, REGISTER)]
    assert not [problem for problem in problems if problem]
