"""wdbc as scikit-learn carries it: OpenML's rows in OpenML's order."""

from __future__ import annotations

import pandas as pd

from pipeline.config.catalogue import Entry
from pipeline.config.params import Data
from pipeline.data.provenance import Provenance
from pipeline.data.sources import Source
from pipeline.data.tables.frames import categorical

PACKAGE = "scikit-learn"
# OpenML's file has six decimals; six of scikit-learn's 17 070 cells have a seventh.
DECIMALS = 6
CLASSES = {"benign": "1", "malignant": "2"}


class ScikitLearn(Source):
    name = PACKAGE
    priority = 10

    def offers(self, entry: Entry) -> bool:
        return entry.packaged == PACKAGE

    def at_hand(self, entry: Entry) -> str | None:
        return f"packaged: {PACKAGE}" if self.offers(entry) else None

    def fetch(self, entry: Entry, settings: Data) -> tuple[pd.DataFrame, Provenance]:
        import sklearn
        from sklearn.datasets import load_breast_cancer

        bunch = load_breast_cancer()
        frame = pd.DataFrame(bunch.data.round(DECIMALS), columns=[f"V{i + 1}" for i in range(bunch.data.shape[1])])
        labels = [CLASSES[bunch.target_names[code]] for code in bunch.target]
        frame[entry.target] = categorical(labels, list(entry.classes))
        return frame, Provenance(
            PACKAGE,
            package_version=sklearn.__version__,
            openml_id=entry.openml_id,
            file="load_breast_cancer",
            notes=["rounded to six decimals and named as on OpenML"],
        )


SOURCE = ScikitLearn()
