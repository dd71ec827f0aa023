"""ARFF, read with liac-arff: the header declares the order of the categories, which becomes their code."""

from __future__ import annotations

from pathlib import Path

import arff
import numpy as np
import pandas as pd

from pipeline.common.errors import UserError
from pipeline.data.tables import line_length
from pipeline.data.tables.frames import categorical


def read(path: Path, encoding: str = "utf-8") -> pd.DataFrame:
    try:
        line_length.check(path)
        with path.open(encoding=encoding) as rows:
            content = arff.load(rows)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file.") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not {encoding} text ({error.reason} at byte {error.start}).") from None
    except arff.ArffException as error:
        # liac-arff's messages carry the number of the line, but not always what stands there.
        text = path.read_text(encoding=encoding).splitlines()
        shown = text[error.line - 1][:100] if 0 < error.line <= len(text) else ""
        raise UserError(f"{path}: {' '.join(str(error).split())} The line: {shown!r}.") from None
    except (OSError, LookupError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}.") from None

    columns = list(zip(*content["data"])) or [() for _ in content["attributes"]]
    if len(columns) != len(content["attributes"]):  # rows as lists only happen in dense files
        raise UserError(f"{path}: sparse ARFF is not supported; write the rows out in full.")
    series: dict[str, object] = {}
    for (name, kind), cells in zip(content["attributes"], columns):
        if name in series:
            raise UserError(f"{path}: the attribute '{name}' is declared twice.")
        if isinstance(kind, list):
            series[name] = categorical(cells, kind)
        elif kind.upper() in ("NUMERIC", "REAL", "INTEGER"):
            numbers = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
            if np.isinf(numbers).any():
                row = np.flatnonzero(np.isinf(numbers))[0] + 1
                raise UserError(f"{path}: data row {row}, attribute '{name}': an infinite number.")
            series[name] = numbers
        else:  # STRING declares no order, so the sorted one is taken
            series[name] = categorical(cells, sorted({str(cell) for cell in cells if cell is not None}))
    return pd.DataFrame(series)
