"""Encoders of a frame as the stages fetch and impute make them: first the decision about its columns, then the fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ldep.table import TableEncoder, kinds


def encoder_for(frame: pd.DataFrame, encode: str | Mapping[str, str] | None = "auto", **settings: Any) -> TableEncoder:
    """Return an encoder that is not fitted, with `own_data.NAME.encode` as in params.yaml; None for the catalogue."""
    recipes = [decision.recipe for decision in kinds.decide(frame, encode) if decision.recipe is not None]
    return TableEncoder(None if encode is None else recipes, scale=False, **settings)
