"""A table of customers, encoded as own data is: no worse than one-hot columns without the id, chosen by hand."""

from __future__ import annotations

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ldep_pipeline.data.frames import read_frame
from ldep_pipeline.stages.impute import impute
from tests.support import churn
from tests.support.encoders import encoder_for


def test_a_linear_model_is_as_good_as_on_one_hot_columns_without_the_id(tmp_path):
    table = churn.table(5000)
    table.to_csv(tmp_path / "churn.csv", index=False)
    y = np.asarray(table[churn.TARGET])
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    nominal = ["signed_up", "last_login", "city", "plan", "contract", "autopay", "paperless"]
    numeric = ["monthly_charge", "support_calls", "income", "age"]
    by_hand = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), nominal),
            (make_pipeline(SimpleImputer(), StandardScaler()), numeric),
        ),
        LogisticRegression(max_iter=1000),
    )
    expected = cross_val_score(by_hand, table, y, cv=folds, scoring="roc_auc").mean()
    frame = read_frame(tmp_path / "churn.csv", churn.TARGET)
    numbers, encoder = impute(frame, columns=encoder_for(frame.iloc[:, :-1]).encode)
    assert "customer_id" not in encoder.columns_
    ours = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    area = cross_val_score(ours, numbers.iloc[:, :-1].to_numpy(), y, cv=folds, scoring="roc_auc").mean()
    assert area > expected
