"""A cache of the openml client, and a set as OpenML would send it."""

from __future__ import annotations

from pathlib import Path

from ldep_pipeline.config.params import Data
from ldep_pipeline.data import catalogue
from ldep_pipeline.data.sources import keel
from tests.support.openml_server import description


def point_client_at(tmp_path: Path, url: str) -> None:
    settings = tmp_path / "config" / "openml" / "config"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f"server = {url}/api/v1/xml\n")


def haberman_arff() -> bytes:
    """OpenML's haberman, made from the packaged rows, so that no data set needs to lie in this repository."""
    frame, _ = keel.SOURCE.fetch(catalogue.entry("haberman"), Data())
    lines = ["@RELATION haberman"]
    for name in frame.columns:
        kind = "numeric"
        if str(frame[name].dtype) == "category":
            kind = "{" + ",".join(frame[name].cat.categories) + "}"
        lines.append(f"@ATTRIBUTE {name} {kind}")
    lines.append("@DATA")
    lines += [
        ",".join(f"{cell:g}" if isinstance(cell, float) else cell for cell in row)
        for row in frame.itertuples(index=False)
    ]
    return ("\n".join(lines) + "\n").encode()


def fill_cache(folder: Path, dataset_id: int, name: str, target: str, arff: bytes) -> Path:
    """Put a set into a cache of the client as the client would."""
    held = folder / "datasets" / str(dataset_id)
    held.mkdir(parents=True)
    (held / "dataset.arff").write_bytes(arff)
    (held / "description.xml").write_bytes(description(dataset_id, name, target, arff, "http://127.0.0.1:9/none"))
    return held


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, with its content; locks are empty and may stay."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in (".lock", ".log")
    }


def edit(arff: bytes, old: str, new: str) -> bytes:
    assert old.encode() in arff
    return arff.replace(old.encode(), new.encode(), 1)


def assert_nothing_written(cache: Path, before: dict[str, bytes]) -> None:
    assert snapshot(cache) == before
    assert not Path("data/raw").exists()
    assert not Path("data/provenance").exists()
