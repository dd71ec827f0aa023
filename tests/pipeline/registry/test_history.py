"""What the registry remembers of a model, and the way back to an earlier version."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mlflow
import pytest

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.common.files import locked
from ldep_pipeline.config import paths
from ldep_pipeline.registry import download, history, keys, rollback, versions
from ldep_pipeline.registry.history import Event
from ldep_pipeline.stages import register
from tests.support import registered
from tests.support.registered import MODEL, NAME, aliases, stored_files

URI = f"models:/{MODEL}@champion"


@pytest.fixture
def two_versions(trained_project: Path) -> Path:
    """Version 1 (linear), and version 2 (the ℓ-DEP), which is better and became the champion."""
    register.run(NAME, registered.with_candidates("linear"))
    assert register.run(NAME, registered.with_candidates("ldep"))["decision"] == "champion"
    return trained_project


def told() -> list[tuple[str, str]]:
    return [(event.what, event.version) for event in rollback.read(NAME).events]


def test_the_registry_tells_what_happened_through_whom_and_why(two_versions):
    found = rollback.read(NAME)
    assert told() == [("registered", "1"), ("promoted", "1"), ("registered", "2"), ("promoted", "2")]
    assert (found.champion, found.is_unexplained) == ("2", False)
    last = found.events[-1]
    assert (last.instead_of, last.decided_by, last.by) == ("1", "the rule", keys.person())
    assert "better by" in last.why
    register.run(NAME, registered.with_candidates("ldep"))  # nothing happens, so nothing is told
    register.run(NAME, registered.with_candidates("linear"))
    assert len(rollback.read(NAME).events) == 4


def test_a_worse_version_is_told_as_a_challenger_and_a_requested_one_as_promoted_on_request(trained_project):
    register.run(NAME, registered.with_candidates("ldep"))
    register.run(NAME, registered.with_candidates("linear"))
    assert told()[-2:] == [("registered", "2"), ("kept as challenger", "2")]
    register.run(NAME, registered.with_candidates("linear"), promote=True)
    last = rollback.read(NAME).events[-1]
    assert (last.what, last.version, last.decided_by) == ("promoted", "2", "on request")


def test_a_rollback_and_its_rollback_serve_the_right_version(two_versions, ldep):
    assert ldep("rollback", NAME, "--why", "wrong prices")[0] == 0
    assert aliases()["champion"] == "1"
    assert type(download.load(URI).model).__name__ == "SVC"
    assert ldep("rollback", NAME, "--why", "the prices were right")[0] == 0
    assert aliases()["champion"] == "2"
    assert type(download.load(URI).model).__name__ == "LDEPClassifier"
    assert told()[-2:] == [("rolled back", "1"), ("rolled back", "2")]
    shown = ldep("history", NAME)[1]
    assert "rolled back from version 2" in shown
    assert "wrong prices" in shown
    assert f"The champion of {MODEL} is version 2." in shown
    as_json = json.loads(ldep("history", NAME, "--json")[1])
    assert [event["why"] for event in as_json["events"][-2:]] == ["wrong prices", "the prices were right"]


def test_registering_again_does_not_undo_a_rollback_and_says_so(two_versions, monkeypatch):
    rollback.roll_back(NAME, None, "wrong prices")
    record = register.run(NAME, registered.with_candidates("ldep"))
    assert (record["version"], record["decision"], record["champion"]["version"]) == (2, "none", 1)
    assert "version 1 is the champion now, since" in record["why"]
    assert "rolled back on 20" in record["why"]
    assert "wrong prices" in record["why"]
    # With another rule every version is decided again.
    record = register.run(NAME, registered.with_candidates("ldep", margin=1e-9))
    assert (record["decision"], aliases()["champion"]) == ("challenger", "1")
    assert "wrong prices; `ldep register --promote` makes this one the champion again" in record["why"]
    record = register.run(NAME, registered.with_candidates("ldep", margin=1e-9), promote=True)
    assert (record["decision"], aliases()["champion"]) == ("champion", "2")
    register.run(NAME, registered.with_candidates("ldep"))
    assert aliases()["champion"] == "2"


def test_a_version_that_was_rolled_back_and_is_made_again_stays_out_of_service(two_versions):
    rollback.roll_back(NAME, None, "wrong prices")
    (stored_files(MODEL, "2") / "MLmodel").write_text("changed")
    record = register.run(NAME, registered.with_candidates("ldep"))
    assert (record["version"], record["decision"]) == (3, "challenger")
    assert aliases()["champion"] == "1"
    assert ("replaced", "3") in told()


def test_a_rollback_that_waits_for_a_registration_leaves_the_champion_that_this_one_made(two_versions, caplog):
    rollback.roll_back(NAME, "1", "wrong prices")
    with ThreadPoolExecutor(1) as pool:
        with locked(paths.LOCKS / f"{NAME}.register.lock", "a registration"):
            waiting = pool.submit(rollback.roll_back, NAME, None, "wrong again")
            until = time.monotonic() + 60
            while "waiting for it to finish" not in caplog.text:
                assert time.monotonic() < until
                time.sleep(0.01)
            client = mlflow.MlflowClient()
            client.set_registered_model_alias(MODEL, "champion", "2")
            history.record(client, MODEL, Event(history.PROMOTED, "2", "better", instead_of="1"))
        event = waiting.result()
    assert (event.version, event.instead_of) == ("1", "2")
    assert aliases()["champion"] == "1"


def test_the_record_of_the_stage_follows_a_rollback(two_versions):
    """So that `dvc repro` draws the page again, which names the version that serves."""
    rollback.roll_back(NAME, "1", "wrong prices")
    record = json.loads(Path(f"registry/{NAME}.json").read_text())
    assert (record["version"], record["decision"], record["champion"]) == (2, "none", {"version": 1, "model": "linear"})


def test_a_version_that_cannot_serve_is_refused_and_nothing_changes(two_versions):
    client = mlflow.MlflowClient()
    before = told()
    with pytest.raises(UserError, match="version 2 of ldep-shop is the champion already"):
        rollback.roll_back(NAME, "2", "why not")
    with pytest.raises(UserError, match=r"has no such model or version: .*`ldep history shop` lists"):
        rollback.roll_back(NAME, "9", "why not")
    with pytest.raises(UserError, match="has no such model or version"):
        rollback.roll_back("none", None, "why not")
    with pytest.raises(UserError, match="--why is empty"):
        rollback.roll_back(NAME, None, " ")
    client.set_model_version_tag(MODEL, "1", versions.BEATS_GUESSING, "false")
    with pytest.raises(UserError, match="version 1 of ldep-shop does not beat guessing; nothing was changed"):
        rollback.roll_back(NAME, None, "why not")
    client.set_model_version_tag(MODEL, "1", versions.BEATS_GUESSING, "true")
    (stored_files(MODEL, "1") / "MLmodel").write_text("changed")
    with pytest.raises(UserError, match=r"version 1 of ldep-shop cannot serve: files were changed .*nothing was"):
        rollback.roll_back(NAME, None, "why not")
    assert (aliases(), told()) == ({"champion": "2"}, before)


def test_an_alias_that_somebody_else_moved_is_reported(two_versions, ldep):
    mlflow.MlflowClient().set_registered_model_alias(MODEL, "champion", "1")
    assert "The history does not say why: somebody moved the alias with another tool" in ldep("history", NAME)[1]


def test_the_first_champion_has_none_before_it(trained_project):
    register.run(NAME, registered.with_candidates("ldep"))
    with pytest.raises(UserError, match="names no champion before version 1; name the version"):
        rollback.roll_back(NAME, None, "why not")


def test_what_is_no_event_is_left_out_and_a_long_reason_is_cut(trained_project):
    register.run(NAME, registered.with_candidates("ldep"))
    client = mlflow.MlflowClient()
    for number, text in enumerate(("", "[]", "{", '{"what": "moved", "version": "1", "why": ""}', '{"what": 1}')):
        client.set_registered_model_tag(MODEL, f"{history.TAG}{number}", text)
    history.record(client, MODEL, Event(history.PROMOTED, "1", "ö" * 9000))
    events = rollback.read(NAME).events
    assert [event.what for event in events] == ["registered", "promoted", "promoted"]
    assert events[-1].why.endswith("ö...")


def test_a_registry_that_does_not_answer_is_reported(trained_project, monkeypatch, ldep):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    for command in (("history", NAME), ("rollback", NAME, "--why", "wrong prices")):
        code, _, errors = ldep(*command)
        assert code == 1
        assert "the registry http://127.0.0.1:9 does not answer" in errors
