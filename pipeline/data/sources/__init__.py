"""Sources of the catalogue's data sets: one module per source, found by this package.

A module that defines `SOURCE`, an instance of a `Source`, is a source. `data.source: auto` asks all of them, and
`data.source: NAME` only the one of that name. Adding a source is adding its module and its test.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from functools import cache

import pandas as pd

from pipeline.common.errors import UserError
from pipeline.config.catalogue import Entry
from pipeline.config.params import Data
from pipeline.data.provenance import Provenance


class Unreachable(UserError):
    """A source that cannot be asked now. The next source is asked instead."""


class Source(ABC):
    """A place from which data sets of the catalogue come.

    Attributes
    ----------
    name : str
        Selects this source alone as `data.source`, and stands in the provenance.
    priority : int
        `auto` and `offline` ask the sources in ascending order.
    """

    name: str
    priority: int

    def offers(self, entry: Entry) -> bool:
        """Whether the source has this data set at all."""
        return True

    def at_hand(self, entry: Entry) -> str | None:
        """How `ldep datasets` lists a data set that this source has on this machine; None if it has not."""
        return None

    @abstractmethod
    def fetch(self, entry: Entry, settings: Data) -> tuple[pd.DataFrame, Provenance]:
        """Return the data set, its target last, and where it came from.

        Raise Unreachable if the source cannot be asked now, and UserError if its answer is of no use. With
        `settings.source: offline` no source uses the network.
        """


@cache
def registered() -> tuple[Source, ...]:
    """Return every source of this package, in the order in which `auto` asks them."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    found = [module.SOURCE for module in modules if isinstance(getattr(module, "SOURCE", None), Source)]
    return tuple(sorted(found, key=lambda source: source.priority))
