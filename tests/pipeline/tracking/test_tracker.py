"""Each run is written once, whatever was interrupted and whoever else writes to the same store."""

from __future__ import annotations

import mlflow
import pytest

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.data import folds
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.data.stage_files import Provenance
from ldep_pipeline.execution import plan
from ldep_pipeline.stages import train
from ldep_pipeline.tracking import connection, runs, tracker
from tests.support import tracked


def test_training_again_adds_no_run_and_replaces_the_failed_one(client):
    before = tracked.runs(client)
    with pytest.raises(train.ModelsFailed):
        train.run("tiny", tracked.params())
    after = tracked.runs(client)
    for model in ("svc", "ldep", "ldep_cv"):
        assert after[model].info.run_id == before[model].info.run_id
    assert after["bad"].info.run_id != before["bad"].info.run_id


def test_an_interrupted_run_is_removed_and_written_again(client):
    whole = tracked.runs(client)["svc"]
    cut = client.create_run(whole.info.experiment_id, tags=whole.data.tags)
    theirs = client.create_run(whole.info.experiment_id, tags={**whole.data.tags, "ldep.owner": "x", "model": "theirs"})
    client.delete_run(whole.info.run_id)
    with pytest.raises(train.ModelsFailed):
        train.run("tiny", tracked.params())
    runs = tracked.runs(client)
    assert runs["svc"].info.run_id not in (cut.info.run_id, whole.info.run_id)
    assert runs["svc"].info.status == "FINISHED"
    assert client.get_run(cut.info.run_id).info.status == "KILLED"
    assert runs["theirs"].info.run_id == theirs.info.run_id  # another's run on the same server is not ours to remove
    client.delete_run(theirs.info.run_id)


def test_the_logged_model_of_a_removed_run_is_removed_too(client):
    experiment = client.get_experiment_by_name("suite").experiment_id
    live = {run.info.run_id for run in tracked.runs(client).values()}
    logged = client.search_logged_models([experiment])
    assert logged
    for model in logged:
        assert model.source_run_id in live or client.get_run(model.source_run_id).info.status == "FINISHED"


def test_a_run_that_another_pipeline_finished_meanwhile_is_not_written_again(client, root):
    """Both begin before either has written; the second finds the run of the first."""
    checked = tracked.params()
    rows = load_training_data("tiny")
    plans = [plan.make("tiny", checked, folds.read("tiny")) for _ in range(2)]
    whole = tracked.runs(client)["svc"]
    client.delete_run(whole.info.run_id)
    trackers = [tracker.Tracker(checked.tracking, made, rows, Provenance("file"), root) for made in plans]
    for each, made in zip(trackers, plans):
        for fold in range(3):
            record = made.store.get(made.fits["svc", fold].key)
            each.fit_finished("svc", fold, {**record, "tuning": {}}, stored=True)
    assert client.get_run(whole.info.run_id).info.lifecycle_stage == "deleted"
    experiment = client.get_experiment_by_name("suite").experiment_id
    assert len(client.search_runs([experiment], f"tags.`ldep.key` = '{plans[0].key('svc')}'")) == 1


def test_the_commits_of_a_report_are_those_of_this_project(client, root, monkeypatch):
    reports = runs.ReportRuns(connection.connect(tracked.params().tracking.experiment, root))
    ours = reports.training_commits(["tiny"])
    assert ours == [tracked.runs(client)["svc"].data.tags["commit"]]
    tags = {**tracked.runs(client)["svc"].data.tags, "ldep.owner": "x", "commit": "theirs"}
    theirs = client.create_run(reports.experiment, tags=tags).info.run_id
    client.set_terminated(theirs)
    assert reports.training_commits(["tiny"]) == ours
    client.delete_run(theirs)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    reports.client = mlflow.MlflowClient("http://127.0.0.1:9")  # nothing listens there
    with pytest.raises(UserError, match="the tracked runs could not be read: "):
        reports.training_commits(["tiny"])


def test_a_version_links_to_the_report_that_describes_it(client, root, tmp_path):
    reports = runs.ReportRuns(connection.connect("suite", root))
    (tmp_path / "tiny.html").write_text("<p>the page</p>")
    (tmp_path / "tiny.card.md").write_text("# the card")
    run_id = reports.log(tmp_path, "tiny.html", "key", ["a sentence"])
    assert reports.log(tmp_path, "tiny.html", "key", ["a sentence"]) == run_id
    assert client.get_run(run_id).info.experiment_id == client.get_experiment_by_name("suite-reports").experiment_id
    client.create_registered_model("ldep-tiny")
    client.create_model_version("ldep-tiny", f"file://{tmp_path}")
    client.update_model_version("ldep-tiny", "1", "What it is.\n\nDecision: why.")
    for _ in range(2):  # the second report replaces the links of the first
        reports.link(run_id, "ldep-tiny", 1, "tiny.html", "tiny.card.md")
        address = f"#/experiments/{reports.reports}/runs/{run_id}/artifacts/tiny"
        version = client.get_model_version("ldep-tiny", "1")
        links = f"**[Report]({address}.html)** · **[Model card]({address}.card.md)**"
        assert version.description == f"{links}\n\nWhat it is.\n\nDecision: why."
        assert (version.tags["report"], version.tags["model_card"]) == (f"{address}.html", f"{address}.card.md")
        (tmp_path / "tiny.html").write_text("<p>another page</p>")
        run_id = reports.log(tmp_path, "tiny.html", "another key", ["a sentence"])
    client.delete_model_version("ldep-tiny", "1")
    reports.link(run_id, "ldep-tiny", 1, "tiny.html", "tiny.card.md")  # nothing to link on, and no error
