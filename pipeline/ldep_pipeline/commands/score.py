"""The command `ldep score`: the rows of a file of any size, in pieces, in bounded memory.

With `--check` it compares the distribution of the columns with that in the rows of training.
"""

from __future__ import annotations

import logging
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from tqdm import tqdm

from ldep.model import check_coverage
from ldep.table import CellError
from ldep_pipeline.commands import AS_TRAINED, CommandLine, add_layout, add_model_address, chosen_layout, drift
from ldep_pipeline.commands.drift import ColumnDrift, DriftCheck
from ldep_pipeline.common.errors import UserError, listed, short
from ldep_pipeline.common.files import replacing, write_json
from ldep_pipeline.data.tables import Table, open_table
from ldep_pipeline.data.tables.csv_table import CsvTable
from ldep_pipeline.registry import download, notifications
from ldep_pipeline.report import renderers
from ldep_pipeline.server import request_log
from ldep_pipeline.serving import prediction_sets
from ldep_pipeline.serving.served_model import Report, ServedModel, columns_by_row, refuse

log = logging.getLogger(__name__)
TARGETS = (".csv", ".parquet")
ALL = "all"  # --keep
Write = Callable[[pa.Table], None]
MOST_WORDS = 10  # of a text, in an explanation
MOVED = 3  # the exit code if a column moved
FEW_ROWS = 100
DRIFT_COLUMNS = (
    renderers.Column("column", "left"),
    renderers.Column("PSI"),
    renderers.Column("missing before"),
    renderers.Column("now"),
    renderers.Column("unseen"),
    renderers.Column("moved", "left"),
)


def add_score(parser: ArgumentParser) -> None:
    add_model_address(parser)
    parser.add_argument("source", metavar="IN", type=Path, help="raw rows: a .csv, .arff or .parquet file of any size")
    parser.add_argument(
        "target", metavar="OUT", type=Path, nargs="?", help="the .csv or .parquet file to write; optional with --check"
    )
    parser.add_argument("--explain", action="store_true", help="add the contribution of each feature")
    parser.add_argument(
        "--sets",
        type=float,
        metavar="COVERAGE",
        help="add one column per class that says whether the row may have it; of so many rows, such as 0.9, the set "
        "contains the class",
    )
    parser.add_argument(
        "--keep",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns of IN to write in front of the answers, such as an id; `--keep all` keeps every column",
    )
    parser.add_argument(
        "--strict", action="store_true", help="stop at the first value that the model would take as missing"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare the rows with those of training, and print which columns moved; exit code 3 if any did. IN may "
        "also be a log of `ldep serve --log-requests`",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="with --check: also write the comparison to this file"
    )
    add_layout(parser, AS_TRAINED)


def score(args: Namespace) -> int:
    if args.target is None and not args.check:
        raise UserError("name the file to write (OUT), or add --check to compare the rows with those of training.")
    if args.target is None and args.sets is not None:
        raise UserError("--sets adds columns to the answers; name the file to write (OUT).")
    if args.json is not None and not args.check:
        raise UserError("--json writes the comparison of --check; add --check.")
    if args.keep and args.target is None:
        raise UserError("--keep copies columns into the file of the answers; name that file (OUT).")
    if args.target is not None:
        options = {"explain": args.explain, "coverage": args.sets, "strict": args.strict, "keep": args.keep}
        run(args.model, args.source, args.target, **options, layout=vars(args))
    moved = check_drift(args.model, args.source, args.json, layout=vars(args)) if args.check else []
    if not moved:
        return 0
    columns = [{"column": column.column, "psi": column.psi, "reasons": column.reasons} for column in moved]
    notifications.of_project("drift", {"model": args.model, "file": str(args.source), "columns": columns})
    return MOVED


def run(
    uri: str,
    source: Path,
    target: Path,
    *,
    explain: bool = False,
    coverage: float | None = None,
    strict: bool = False,
    keep: Sequence[str] = (),
    layout: Mapping[str, Any] | None = None,
    root: Path = Path(),
) -> int:
    """Write the class, decision value and probability of each row, in the order of the rows; return their number.

    A column names the values that were taken as missing. With `strict` such a value is an error. `keep` names columns
    of the file that are written in front of the answers, or is ["all"]. `layout` has the options that say how the file
    is written.
    """
    if target.suffix not in TARGETS:
        raise UserError(f"{target}: the answers are written as .csv or .parquet.")
    if target.exists() and source.exists() and target.samefile(source):
        raise UserError(f"{target} is the input file, and would be overwritten; name another file for the answers.")
    opened = download.open_model(uri, root)
    model = opened.model
    if explain and not hasattr(model.model, "explain"):
        raise UserError(f"{type(model.model).__name__} has no exact explanation; leave --explain out.")
    _check_sets(model, coverage)
    rows = open_table(source, chosen_layout(source, layout or {}, opened.origin), known=model.encoder.columns_)
    kept = rows.columns if list(keep) == [ALL] else list(dict.fromkeys(keep))
    rows.require(kept)
    _check_names(kept, table(model, None, explain, coverage)[0].column_names, source)
    began, done, unknown = time.monotonic(), 0, Counter[str]()
    with replacing(target) as part, _writer(part, target.suffix) as write, tqdm(unit=" rows", disable=None) as bar:
        # One batch is scored while the previous one is written, so at most three are in memory.
        with ThreadPoolExecutor(1) as writing_thread:
            writing: Future[None] | None = None
            for piece in _pieces(rows, model, kept):
                answers, report = _answers(model, rows, piece, explain, coverage, strict, done)
                unknown.update({name: len(unknown_rows) for name, unknown_rows in report.items()})
                if writing is not None:
                    writing.result()
                writing = writing_thread.submit(write, _with_kept(piece, kept, answers))
                done += len(piece)
                bar.update(len(piece))
            if writing is not None:
                writing.result()
        if not done:  # the columns of an empty table are still its columns
            write(
                _with_kept(
                    pa.table({name: pa.array([], pa.string()) for name in kept}),
                    kept,
                    table(model, None, explain, coverage)[0],
                )
            )
    seconds = time.monotonic() - began
    version = "" if opened.version is None else f", by version {opened.version} of the model"
    log.info("%s: %d rows in %.1f s, %.0f per second%s.", target, done, seconds, done / max(seconds, 1e-9), version)
    _say_what_was_read(rows, model, kept)
    if unknown:
        shown = ", ".join(f"{name} ({count})" for name, count in unknown.most_common())
        log.warning("%s: unknown values were taken as missing, in cells of: %s.", source, shown)
    return done


def _check_names(kept: Sequence[str], answers: Sequence[str], source: Path) -> None:
    for name in kept:
        if name in answers:
            raise UserError(
                f"{source}: the column '{short(name)}' cannot be kept, because a column of the answers has this name; "
                "list the columns to keep without it, or rename it."
            )


def _with_kept(piece: pa.Table, kept: Sequence[str], answers: pa.Table) -> pa.Table:
    """The answers, behind the kept columns of the rows."""
    for place, name in enumerate(kept):
        column = piece.column(name)
        is_text = pa.types.is_dictionary(column.type)
        answers = answers.add_column(place, name, column.cast(pa.string()) if is_text else column)
    return answers


def _say_what_was_read(rows: Table, model: ServedModel, kept: Sequence[str]) -> None:
    used = model.encoder.columns_
    ignored = [name for name in rows.columns if name not in set(used) | set(kept)]
    parts = [f"{len(used)} columns used", f"{len(ignored)} ignored" + (f" ({listed(ignored)})" if ignored else "")]
    if kept:
        parts.append(f"{len(kept)} kept")
    if isinstance(rows, CsvTable):
        parts.append(
            f"read with the delimiter {rows.layout.delimiter!r} and the decimal sign {rows.layout.decimal!r}, as "
            f"{rows.layout.encoding}"
        )
    log.info("%s: %s.", rows.path, "; ".join(parts))


def _pieces(rows: Table, model: ServedModel, kept: Sequence[str] = ()) -> Iterator[pa.Table]:
    """The columns of the model, and those to keep. A column that is kept is read as it is written."""
    columns = list(dict.fromkeys([*model.encoder.columns_, *kept]))
    return rows.pieces(columns, set(model.encoder.numeric_columns) - set(kept))


def _check_sets(model: ServedModel, coverage: float | None) -> None:
    """Refuse a coverage that cannot be, and a model without prediction sets."""
    if coverage is None:
        return
    if model.sets is None:
        raise UserError(f"{prediction_sets.NONE} Or leave --sets out.")
    try:
        check_coverage(coverage)
    except ValueError as error:
        raise UserError(f"--sets: {error}") from None


def _answers(
    model: ServedModel, rows: Table, piece: pa.Table, explain: bool, coverage: float | None, strict: bool, done: int
) -> tuple[pa.Table, Report]:
    try:
        return table(model, piece, explain, coverage, strict)
    except CellError as error:
        place = rows.place(done + error.row)
        raise UserError(f"{rows.path}: {place}, column '{error.column}': {error.reason}") from None
    except ValueError as error:
        raise UserError(f"{rows.path}, after row {done}: {error}") from None


def table(
    model: ServedModel, piece: pa.Table | None, explain: bool, coverage: float | None = None, strict: bool = False
) -> tuple[pa.Table, Report]:
    """Return the answers for some rows, one column per kind of answer, and the values that were taken as missing."""
    X, report = np.empty((0, len(model.columns))), Report()
    if piece is not None:
        frame = piece.select(model.encoder.columns_).to_pandas()
        X, report = model.read(frame)
        if strict:
            refuse(frame, report)
    numbers, values = model.score(X)
    classes = pa.array(model.classes, pa.string())
    columns = {"class": pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), classes)}
    probability = model.probability(X, values)
    if values is not None and probability is not None:
        columns |= _score_columns(model.classes, values, probability)
    if coverage is not None and model.sets is not None and values is not None:
        contains = model.sets.contains(values, coverage)
        columns |= {f"set_contains_{label}": pa.array(column) for label, column in zip(model.classes, contains.T)}
    if explain:
        columns |= _explanation_columns(model, X)
    columns["taken_as_missing"] = _column_names(report, len(X))
    return pa.table(columns), report


def _score_columns(classes: list[str], values: np.ndarray, probability: np.ndarray) -> dict[str, pa.Array]:
    """With two classes the decision value and the probability of the second; with more both of every class."""
    if values.ndim == 1:
        return {"decision": pa.array(values), f"probability_of_{classes[1]}": pa.array(probability[:, 1])}
    decisions = {f"decision_of_{label}": pa.array(column) for label, column in zip(classes, values.T)}
    return decisions | {f"probability_of_{label}": pa.array(column) for label, column in zip(classes, probability.T)}


def _explanation_columns(model: ServedModel, X: np.ndarray) -> dict[str, pa.Array]:
    explanation = model.explain(X) if len(X) else None
    columns: dict[str, pa.Array] = {}
    if len(model.classes) > 2:
        rivals: Any = [] if explanation is None else explanation.rival
        columns["against"] = pa.array([str(label) for label in rivals], pa.string())
    columns["bias"] = pa.array(np.zeros(0) if explanation is None else explanation.bias)
    contributions = X if explanation is None else explanation.contributions
    for name, contribution in zip(model.columns, contributions.T):
        columns[f"contribution_of_{name}"] = pa.array(contribution)
    for name, rows in model.table.explain_words(X).items():
        shown = ["; ".join(f"{word} {share:+.3g}" for word, share in list(row.items())[:MOST_WORDS]) for row in rows]
        columns[f"words_of_{name}"] = pa.array(shown, pa.string())
    return columns


def _column_names(report: Report, count: int) -> pa.Array:
    """Return for each row the columns whose value was taken as missing, as text; null if there are none."""
    if not report:
        return pa.nulls(count, pa.string())
    names = columns_by_row(report, count)
    return pa.array(["; ".join(columns) or None for columns in names], pa.string())


def _plain(rows: pa.Table) -> pa.Table:
    """Answers for a CSV file, which takes no dictionaries."""
    place = rows.column_names.index("class")
    return rows.set_column(place, "class", rows.column(place).cast(pa.string()))


@contextmanager
def _writer(part: Path, suffix: str) -> Iterator[Write]:
    """Give a function that writes tables; the first one opens the file, since it has the columns of all."""
    opened: list[pyarrow.parquet.ParquetWriter | pyarrow.csv.CSVWriter] = []

    def write(rows: pa.Table) -> None:
        if not opened:
            if suffix == ".parquet":
                # Scores do not repeat, and do not shrink: looking for it costs more than all the rest.
                options = {"use_dictionary": ["class"], "compression": {"class": "snappy"}, "write_statistics": False}
                opened.append(pyarrow.parquet.ParquetWriter(part, rows.schema, **options))
            else:
                opened.append(pyarrow.csv.CSVWriter(part, _plain(rows).schema))
        opened[0].write_table(rows if suffix == ".parquet" else _plain(rows))

    try:
        yield write
    finally:
        for writer in opened:
            writer.close()


def check_drift(
    uri: str, source: Path, out: Path | None = None, root: Path = Path(), layout: Mapping[str, Any] | None = None
) -> list[ColumnDrift]:
    """Print the comparison, write it as JSON if `out` is given, and return the columns that moved."""
    opened = download.open_model(uri, root)
    model, profile = opened.model, opened.profile
    if profile is None:
        raise UserError(f"{uri} has no training profile; `ldep register` stores one with each new version.")
    check = DriftCheck(model.encoder, profile)
    if source.suffix == request_log.SUFFIX:
        _add_log(check, source, model)
    else:
        written = chosen_layout(source, layout or {}, opened.origin)
        _add_file(check, open_table(source, written, known=model.encoder.columns_), model)
    if not check.rows:
        raise UserError(f"{source}: there are no rows to compare.")
    result = check.result()
    moved = [column for column in result if column.reasons]
    print(f"{source}: {check.rows} rows, compared with the {profile.rows} rows of training.\n")
    print(drift_table(result))
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
    for piece in _pieces(rows, model):
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


def drift_table(result: list[ColumnDrift]) -> str:
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
    return renderers.text(renderers.Table(DRIFT_COLUMNS, [[renderers.Cell(text) for text in row] for row in rows]))


EXAMPLE = "ldep score models:/ldep-banana@champion rows.csv scored.parquet --explain"
COMMANDS = {"score": CommandLine(add_score, score, EXAMPLE)}
