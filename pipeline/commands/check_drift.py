"""`ldep score --check`: which columns of a file are distributed differently from the rows of training."""

from __future__ import annotations

from pathlib import Path

from pipeline.common.errors import UserError, short
from pipeline.common.files import write_json
from pipeline.data.tables import Layout, Table, open_table
from pipeline.encoding.cells import CellError
from pipeline.registry import download
from pipeline.reporting import renderers
from pipeline.reporting import table as tables
from pipeline.serving import drift, mlflow_folder, request_log
from pipeline.serving.drift import ColumnDrift, DriftCheck
from pipeline.serving.served_model import ServedModel
from pipeline.serving.training_profile import TrainingProfile

EXIT_CODE = 3  # of the command if a column moved
FEW_ROWS = 100
COLUMNS = (
    tables.Column("column", "left"),
    tables.Column("PSI"),
    tables.Column("missing before"),
    tables.Column("now"),
    tables.Column("unseen"),
    tables.Column("moved", "left"),
)


def run(
    uri: str, source: Path, out: Path | None = None, root: Path = Path(), layout: Layout | None = None
) -> list[ColumnDrift]:
    """Print the comparison, write it as JSON if `out` is given, and return the columns that moved."""
    with download.checked_copy(uri, root) as folder:
        model = download.load(str(folder))
        try:
            profile = TrainingProfile.load(folder / mlflow_folder.DATA)
        except ValueError as error:
            raise UserError(f"{uri} is not loaded: {error}") from None
    if profile is None:
        raise UserError(f"{uri} has no training profile; `ldep register` stores one with each new version.")
    check = DriftCheck(model.encoder, profile)
    if source.suffix == request_log.SUFFIX:
        _add_log(check, source, model)
    else:
        _add_file(check, open_table(source, layout, known=model.encoder.columns_), model)
    if not check.rows:
        raise UserError(f"{source}: there are no rows to compare.")
    result = check.result()
    moved = [column for column in result if column.reasons]
    print(f"{source}: {check.rows} rows, compared with the {profile.rows} rows of training.\n")
    print(text_table(result))
    print(f"{len(moved)} of {len(result)} columns moved." if moved else "No column moved.")
    if any(column.psi >= drift.PSI_LIMIT and not column.reasons for column in result):
        print(
            f"A PSI of {drift.PSI_LIMIT} or more without a remark is explained by chance: few rows, or many categories."
        )
    if check.rows < FEW_ROWS:
        print(f"With fewer than {FEW_ROWS} rows, chance explains all but the largest differences.")
    if out is not None:
        write_json(out, drift.to_json(check, result))
    return moved


def _add_file(check: DriftCheck, rows: Table, model: ServedModel) -> None:
    for piece in rows.pieces(model.encoder.columns_, model.encoder.numeric_columns):
        try:
            check.add(piece.to_pandas())
        except CellError as error:
            place = rows.place(check.rows + error.row)
            raise UserError(f"{rows.path}: {place}, column '{error.column}': {error.reason}") from None


def _add_log(check: DriftCheck, source: Path, model: ServedModel) -> None:
    for piece in request_log.read(source, model.encoder.columns_):
        try:
            check.add(piece)
        except CellError as error:  # a log holds answered requests, so somebody edited it
            place = f"row {check.rows + error.row + 1}"
            raise UserError(f"{source}: {place}, column '{error.column}': {error.reason}") from None


def text_table(result: list[ColumnDrift]) -> str:
    """Return one line per column, those that moved first."""
    rows = [
        (
            short(column.column),
            f"{column.psi:.3f}",
            f"{column.missing_before:.1%}",
            f"{column.missing_now:.1%}",
            f"{column.unseen:.1%}" if column.unseen else "",
            "; ".join(column.reasons),
        )
        for column in result
    ]
    return renderers.text(tables.Table(COLUMNS, [[tables.Cell(text) for text in row] for row in rows]))
