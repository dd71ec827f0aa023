"""wdbc as scikit-learn carries it: OpenML's rows in OpenML's order."""

from __future__ import annotations

import pandas as pd

from pipeline.config.catalogue import Entry
from pipeline.data.frames import categorical
from pipeline.data.provenance import Provenance

PACKAGE = "scikit-learn"
# OpenML's file has six decimals; six of scikit-learn's 17 070 cells have a seventh.
DECIMALS = 6
CLASSES = {"benign": "1", "malignant": "2"}


def fetch(entry: Entry) -> tuple[pd.DataFrame, Provenance]:
    import sklearn
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    frame = pd.DataFrame(bunch.data.round(DECIMALS), columns=[f"V{i + 1}" for i in range(bunch.data.shape[1])])
    labels = [CLASSES[bunch.target_names[code]] for code in bunch.target]
    frame[entry.target] = categorical(labels, list(entry.classes))
    return frame, Provenance(
        PACKAGE,
        package_version=sklearn.__version__,
        file="load_breast_cancer",
        notes=["rounded to six decimals and named as on OpenML"],
    )
