"""Stage impute: a raw data set as numbers without missing cells, and the fitted encoder for later rows."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ldep.table import TableEncoder
from ldep_pipeline.common.errors import UserError, listed, short
from ldep_pipeline.common.files import replacing
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Impute
from ldep_pipeline.data.profile import read_recipes
from ldep_pipeline.data.stage_files import read_raw, write_encoder

log = logging.getLogger(__name__)


def run(name: str, params: Impute, folder: Path = paths.DATA) -> None:
    """Write data/imputed/NAME.parquet (features as float64, the target last) and NAME.encoder.json."""
    frame = read_raw(name, folder)
    columns = read_recipes(name, folder)
    try:
        numbers, encoder = impute(frame, params.strategy, params.scope, params.fill_value, columns)
    except UserError as error:
        raise UserError(f"{name}: {str(error).removesuffix('.')}.") from None
    with replacing(paths.imputed(name, folder)) as part:
        numbers.to_parquet(part, index=False)
    write_encoder(name, encoder, folder)
    used = set(encoder.source_columns)
    dropped = [str(column) for column in frame.columns[:-1] if str(column) not in used]
    if dropped:
        log.info("%s: left out: %s.", name, listed(dropped))
    log.info("%s: %d rows, %d features.", name, len(numbers), numbers.shape[1] - 1)


def impute(
    frame: pd.DataFrame,
    strategy: str = "mean",
    scope: str = "dataset",
    fill_value: float = 0.0,
    columns: Sequence[Mapping[str, Any]] | None = None,
) -> tuple[pd.DataFrame, TableEncoder]:
    """Encode a raw frame (target last) and, if scope is `dataset`, fill its missing cells.

    `columns` is what fetch has decided. With scope `fold` missing cells stay NaN, to be imputed from each training fold
    alone.
    """
    features, target = frame.iloc[:, :-1], frame.iloc[:, -1]
    encoder = TableEncoder(columns, strategy, float(fill_value), scope == "dataset", scale=False).fit(features)
    labels = encoder.get_feature_names_out()
    if not len(labels):
        raise UserError(f"no column is left beside the target '{short(str(target.name))}'; keep one (encode).")
    if target.name in labels:
        raise UserError(f"the target '{short(str(target.name))}' has the name of a feature; rename it in the file.")
    numbers = pd.DataFrame(encoder.transform(features), columns=labels)
    numbers[target.name] = target.array
    return numbers, encoder
