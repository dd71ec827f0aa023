"""What an earlier stage wrote, or a message that says which stage to run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pipeline.common.errors import UserError


def read_table(path: Path, made_by: str) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; run `ldep {made_by}` first, or `dvc repro` for everything.") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}); run `ldep {made_by}` again.") from None
