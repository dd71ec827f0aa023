"""wdbc as scikit-learn carries it: OpenML's rows in OpenML's order."""

from __future__ import annotations

import pandas as pd

from ldep_pipeline.data.catalogue import CatalogueEntry
from ldep_pipeline.data.frames import categorical
from ldep_pipeline.data.settings import Data
from ldep_pipeline.data.sources import Packaged
from ldep_pipeline.data.stage_files import Provenance

PACKAGE = "scikit-learn"
# OpenML's file has six decimals; six of scikit-learn's 17 070 cells have a seventh.
DECIMALS = 6
CLASSES = {"benign": "1", "malignant": "2"}


class ScikitLearn(Packaged):
    name = PACKAGE

    def fetch(self, entry: CatalogueEntry, settings: Data) -> tuple[pd.DataFrame, Provenance]:
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
