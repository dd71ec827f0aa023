"""How a text file is written: delimiter, decimal sign and encoding."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from pipeline.common.errors import UserError


@dataclass(frozen=True)
class Layout:
    """The same three settings for own_data and for `ldep score`. ARFF uses the encoding alone, Parquet none."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n\0':
            raise UserError(
                f"the delimiter {self.delimiter!r} cannot be used; it is one character, such as ',' or ';'."
            )
        if self.decimal not in (".", ","):
            raise UserError(f"the decimal sign {self.decimal!r} cannot be used; it is '.' or ','.")
        if self.decimal == self.delimiter:
            raise UserError(f"the delimiter and the decimal sign are both '{self.decimal}'; set another delimiter.")
        if not _is_text_encoding(self.encoding):
            raise UserError(f"there is no encoding '{self.encoding}' for text files; try utf-8 or latin-1.")

    def decoder(self) -> codecs.IncrementalDecoder:
        # A byte order mark, as spreadsheets write it, is not part of the first column's name.
        name = codecs.lookup(self.encoding).name
        return codecs.getincrementaldecoder("utf-8-sig" if name == "utf-8" else name)("strict")


def _is_text_encoding(name: str) -> bool:
    """Whether text survives the encoding piece by piece. Python also lists codecs such as punycode and undefined."""
    try:
        for sample in ("a;1\n", "é;1\n"):
            try:
                content = sample.encode(name)
            except UnicodeEncodeError:  # an encoding without this letter, such as ascii
                continue
            content.decode(name, "replace")  # idna cannot, and a message about a wrong byte needs it
            decoder = codecs.getincrementaldecoder(name)("strict")
            text = "".join(decoder.decode(content[i : i + 1]) for i in range(len(content))) + decoder.decode(b"", True)
            if text != sample:
                return False
    except (LookupError, ValueError, TypeError):
        return False
    return True
