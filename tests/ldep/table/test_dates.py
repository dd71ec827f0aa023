"""Dates: each form is read, wrong ones are missing, and the features are the calendar's."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pandas as pd
import pytest

from ldep.table import dates

NOON = (datetime.datetime(2024, 2, 29, 12, 30) - dates.ORIGIN).total_seconds()
MIDNIGHT = NOON - 12.5 * 3600


@pytest.mark.parametrize(
    ("text", "form", "moment"),
    [
        ("2024-02-29", "YYYY-MM-DD", MIDNIGHT),
        (" 2024-2-29 ", "YYYY-MM-DD", MIDNIGHT),
        ("2024/02/29", "YYYY-MM-DD", MIDNIGHT),
        ("2024-02-29T12:30", "YYYY-MM-DD", NOON),
        ("2024-02-29 12:30:00.123", "YYYY-MM-DD", NOON),
        ("2024-02-29T12:30:00Z", "YYYY-MM-DD", NOON),
        ("2024-02-29T14:30:00+02:00", "YYYY-MM-DD", NOON),
        ("29.02.2024", "DD.MM.YYYY", MIDNIGHT),
        ("29/2/2024 12:30", "DD.MM.YYYY", NOON),
        ("02/29/2024", "MM/DD/YYYY", MIDNIGHT),
        ("29 Feb 2024", "DD Mon YYYY", MIDNIGHT),
        ("20240229", "YYYYMMDD", MIDNIGHT),
        ("2024-02-29", "DD.MM.YYYY", MIDNIGHT),  # programs send ISO dates, whatever the file had
        (20240229, "YYYYMMDD", MIDNIGHT),
        (datetime.date(2024, 2, 29), "YYYY-MM-DD", MIDNIGHT),
        (pd.Timestamp("2024-02-29 12:30"), "DD.MM.YYYY", NOON),
        (pd.Timestamp("2024-02-29 14:30+02:00"), "DD.MM.YYYY", NOON),
        (np.datetime64("2024-02-29T12:30"), "YYYY-MM-DD", NOON),
    ],
)
def test_a_date_is_read(text, form, moment):
    assert dates.read(text, form) == moment


@pytest.mark.parametrize(
    "text", ["2023-02-29", "29.02.2024", "yesterday", "", "NA", "2024-02-29T25:00", None, 7.5, "1"]
)
def test_what_is_not_a_date_of_the_form_is_missing(text):
    assert math.isnan(dates.read(text, "YYYY-MM-DD"))
    assert math.isnan(dates.read(pd.NaT, "YYYY-MM-DD"))


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["2024-01-05", "2023-12-31 10:00"], "YYYY-MM-DD"),
        (["05.01.2024", "31.12.2023"], "DD.MM.YYYY"),
        (["01/05/2024", "12/31/2023"], "MM/DD/YYYY"),
        (["01/05/2024", "12/11/2023"], "DD.MM.YYYY"),
        (["5 Jan 2024", "31 Dec 2023"], "DD Mon YYYY"),
        (["20240105", "20231231"], None),
        (["1.5.2", "3.4.5"], None),
        (["2024-01-05", "red"], None),
        ([], None),
    ],
)
def test_the_form_of_a_column_is_found(texts, form):
    assert dates.form_of(texts) == form
