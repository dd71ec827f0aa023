"""Publishing: what is copied, what is compressed, and what is left out."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ldep_pipeline.commands import project as commands
from ldep_pipeline.commands.project import publish_report
from ldep_pipeline.common.errors import UserError


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A project with a report of four files."""
    (tmp_path / "report/figures").mkdir(parents=True)
    for name in ("report.html", "results.csv", "figures/ranks.svg", "figures/ranks.png"):
        (tmp_path / "report" / name).write_text(f"{name}\n" * 100)
    (tmp_path / "params.yaml").write_text("datasets: [mine]\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_results_are_compressed_and_pixel_images_are_left_out(project):
    target = project / "out"
    (target / "figures").mkdir(parents=True)
    (target / "figures/old.svg").write_text("of an earlier report")
    publish_report(target)
    files = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert files == {"report.html", "results.csv.gz", "params.yaml", "figures/ranks.svg"}
    assert gzip.decompress((target / "results.csv.gz").read_bytes()) == Path("report/results.csv").read_bytes()


def test_a_file_that_is_too_large_to_commit_is_left_out(project, monkeypatch, caplog):
    monkeypatch.setattr(commands, "LARGEST", 1000)
    written = publish_report(project / "out")
    assert {path.name for path in written} == {"results.csv.gz", "params.yaml"}
    assert "report.html is left out: 1 kB is too large to commit" in caplog.text


def test_without_a_report_there_is_nothing_to_publish(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"report/report.html is missing; run `dvc repro report`"):
        publish_report(tmp_path / "out")


def test_a_report_of_other_data_sets_does_not_replace_a_published_one(project):
    publish_report(project / "out")
    before = (project / "out/report.html").read_bytes()
    (project / "params.yaml").write_text("datasets: [another]\n")
    (project / "report/report.html").write_text("of another data set")
    with pytest.raises(UserError, match="nothing was written"):
        publish_report(project / "out")
    assert (project / "out/report.html").read_bytes() == before


def test_a_report_of_repeats_does_not_replace_one_of_the_papers_partition(project):
    publish_report(project / "out")
    (project / "params.yaml").write_text("datasets: [mine]\nsplit: {repeats: 5}\n")
    with pytest.raises(UserError, match=r"another number of repeats \(split.repeats: 1; this one: 5\); nothing"):
        publish_report(project / "out")
    publish_report(project / "other")
