"""Mutated versions of params.yaml: each is accepted, or refused soon in sentences that name the file and the key."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest

from ldep_pipeline.common.errors import UserError, short
from ldep_pipeline.config import params
from ldep_pipeline.execution.model_check import check_models
from tests.support import killing
from tests.support.mutated_params import Mutation, mutations

pytestmark = pytest.mark.fault
SECONDS = 10.0  # of CPU time, for a file of a megabyte that PyYAML reads in three
LONGEST_LINE, MOST_LINES = 700, 25
SLOW_RUN, PROCESSES = 2000, 40


def refusal(path: Path) -> str | None:
    """Check a file as `ldep check` does; the message if it is refused."""
    try:
        check_models(params.load(path))
    except UserError as error:
        return str(error)
    return None


def complaint(path: Path, mutation: Mutation) -> str | None:
    """What is wrong with the way in which a mutation is treated."""
    path.write_bytes(mutation.content)
    began = time.process_time()
    try:
        message = refusal(path)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    seconds = time.process_time() - began
    if seconds > SECONDS:
        return f"it took {seconds:.1f} s"
    return None if message is None else complaint_about(message, mutation)


def complaint_about(message: str, mutation: Mutation) -> str | None:
    lines = message.splitlines()
    if len(lines) > MOST_LINES or max(map(len, lines)) > LONGEST_LINE:
        return f"the message is too long: {message[:300]}"
    if not all("params.yaml" in line for line in lines):
        return f"a line does not name the file: {message}"
    if mutation.keys and not any(short(key) in message for key in mutation.keys):
        return f"the message does not name the key: {message}"
    return None


def check_all(path: Path, chosen: Sequence[Mutation]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        complaints = {f"{n}: {m.change}": wrong for n, m in enumerate(chosen) if (wrong := complaint(path, m))}
    assert not complaints


def test_mutated_parameters_are_accepted_or_refused_by_key(tmp_path):
    check_all(tmp_path / "params.yaml", list(mutations(40, seed=1)))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_thousand_mutated_parameters_are_accepted_or_refused_by_key(tmp_path):
    check_all(tmp_path / "params.yaml", list(mutations(SLOW_RUN)))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("number", range(0, SLOW_RUN, SLOW_RUN // PROCESSES))
def test_the_real_command_refuses_them_without_a_traceback(tmp_path, number):
    mutation = list(mutations(number + 1 + number % 10))[-1]
    (tmp_path / "params.yaml").write_bytes(mutation.content)
    done = killing.run(tmp_path, "ldep", "check", seconds=60)
    assert "Traceback" not in done.stderr
    if done.returncode == 0:
        assert (tmp_path / "data/decides").is_dir()
        return
    assert done.returncode == 1
    message = done.stderr[done.stderr.index("ldep check: ") :]
    assert complaint_about(message, mutation) is None


@pytest.mark.parametrize("value", ["!!bool x", '!!int ""', "!!timestamp x", "!!float []", "!!binary ä"])
def test_a_tag_that_does_not_fit_its_value(tmp_path, value):
    path = tmp_path / "params.yaml"
    path.write_text(f"datasets: [banana]\nsplit: {{seed: {value}}}\n")
    with pytest.raises(UserError, match=r"params\.yaml is not valid YAML"):
        params.load(path)


def test_many_problems_are_counted_and_the_first_ones_shown(tmp_path):
    with pytest.raises(UserError) as caught:
        params.check({"datasets": ["banana"], **{f"key{number}": 1 for number in range(300)}})
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert "unknown key 'key0'" in lines[0]
    assert lines[-1] == "params.yaml: 280 more problems are not shown."


def test_a_check_of_a_whole_section_does_not_repeat_the_section():
    first = [{"r1": 1, "x" * 5000: 2}]
    entry = {"class": "ldep.LDEPClassifier", "search": {"r1": {"choices": [1]}}, "first": first}
    with pytest.raises(UserError) as caught:
        params.check({"datasets": ["banana"], "classifiers": {"ours": entry}})
    assert str(caught.value).startswith(
        "params.yaml: 'classifiers.ours': first.0 sets what `search` does not have: 'xx"
    )
    assert len(str(caught.value)) < 200
