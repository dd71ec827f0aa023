"""Stage impute: a raw data set as numbers without missing cells, and the fitted encoder for later rows."""

from __future__ import annotations

import logging
from pathlib import Path

import pandas as pd

from pipeline.common.files import replacing
from pipeline.config import paths
from pipeline.data.stage_files import read_raw
from pipeline.encoding.encoder import RawEncoder
from pipeline.fitting.specs import Impute

log = logging.getLogger(__name__)


def run(name: str, params: Impute, folder: Path = paths.DATA) -> None:
    """Write data/imputed/NAME.parquet (features as float64, the target last) and NAME.encoder.json."""
    frame = read_raw(name, folder)
    numbers, encoder = impute(frame, params.strategy, params.scope, params.fill_value)
    with replacing(paths.imputed(name, folder)) as part:
        numbers.to_parquet(part, index=False)
    encoder.save(paths.encoder(name, folder))
    dropped = [column for column, kept in zip(encoder.columns_, encoder.kept_) if not kept]
    if dropped:
        log.info("%s: dropped columns without any value: %s.", name, ", ".join(dropped))
    log.info("%s: %d rows, %d features.", name, len(numbers), numbers.shape[1] - 1)


def impute(
    frame: pd.DataFrame, strategy: str = "mean", scope: str = "dataset", fill_value: float = 0.0
) -> tuple[pd.DataFrame, RawEncoder]:
    """Encode a raw frame (target last) and, if scope is `dataset`, fill its missing cells.

    With scope `fold` missing cells stay NaN, to be imputed from each training fold alone.
    """
    features, target = frame.iloc[:, :-1], frame.iloc[:, -1]
    encoder = RawEncoder(strategy, float(fill_value), impute=scope == "dataset").fit(features)
    numbers = pd.DataFrame(encoder.transform(features), columns=encoder.get_feature_names_out())
    numbers[target.name] = target.array
    return numbers, encoder
