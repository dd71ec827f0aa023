"""Tables in files: one reader of CSV, ARFF and Parquet, for training, scoring and streaming."""

from pipeline.data.tables.frames import read_frame
from pipeline.data.tables.layout import Layout
from pipeline.data.tables.open import SUFFIXES, Table, open_table

__all__ = ["SUFFIXES", "Layout", "Table", "open_table", "read_frame"]
