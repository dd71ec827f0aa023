"""The command `ldep verify`: does a model keep the promises of its data set? Each is proven, or broken by a row."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from ldep_pipeline.commands import CommandLine, add_model_address, add_params
from ldep_pipeline.common.errors import UserError, nearest
from ldep_pipeline.common.files import write_json
from ldep_pipeline.config import params, paths
from ldep_pipeline.data.stage_files import read_raw
from ldep_pipeline.registry import download, promises
from ldep_pipeline.registry.promises import Record
from ldep_pipeline.serving import portable

NOT_KEPT = 3  # the exit code if a promise is not kept


def add_verify(parser: ArgumentParser) -> None:
    add_model_address(parser)
    parser.add_argument("--dataset", metavar="NAME", help="whose promises and rows (default: the model's data set)")
    parser.add_argument(
        "--certificates",
        type=Path,
        metavar="FOLDER",
        help="write the evidence of the proofs, the numbers of the model and the program that checks them",
    )
    add_params(parser)


def verify(args: Namespace) -> int:
    checked = run(args.model, args.dataset, args.certificates, args.params)
    for record in checked:
        state = "kept" if record["kept"] else "BROKEN" if record["decided"] else "NOT PROVEN"
        print(f"{state}: {record['promise']}\n    {record['why']}.")
        if record["rows"]:
            print(f"    {promises.rows_text(record['rows'])}")
    return 0 if all(record["kept"] for record in checked) else NOT_KEPT


def run(
    uri: str, dataset: str | None, certificates: Path | None, params_file: Path = paths.PARAMS, root: Path = Path()
) -> list[Record]:
    """Check the promises of a model's data set; write the certificates into a folder, if one is named."""
    own_data = params.load(params_file).own_data
    name = dataset or _dataset_of(uri)
    if name not in own_data:
        hint = nearest(name, own_data)
        raise UserError(f"{uri}: there is no own_data.{name} in {params_file}, which would have its promises; {hint}.")
    promised = own_data[name].promises
    if not promised:
        raise UserError(f"own_data.{name} has no promises in {params_file}; docs/proofs.md shows some.")
    model = download.load(uri, root)
    rows = read_raw(name, root / paths.DATA)
    checked = promises.check(model, promised, rows, lambda other: download.load(other, root))
    if certificates is not None:
        _write(certificates, model, checked)
    return [record for record, _ in checked]


def _dataset_of(uri: str) -> str:
    address = download.ADDRESS.fullmatch(uri)
    if address is None or not address["name"].startswith(download.PREFIX):
        raise UserError(f"{uri} does not say which data set it belongs to; name it with --dataset.")
    return address["name"].removeprefix(download.PREFIX)


def _write(folder: Path, model: Any, checked: list[tuple[Record, Any]]) -> None:
    from ldep.prove import verify as program

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "verify.py").write_text(Path(program.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    if model.is_exact:
        write_json(folder / "model.json", portable.program(model).to_json())
    for number, (_, certificate) in enumerate(checked, 1):
        parts = [] if certificate is None else certificate.get("parts", [certificate])
        for place, part in enumerate(parts, 1):
            suffix = f".{place}" if len(parts) > 1 else ""
            write_json(folder / f"promise-{number}{suffix}.json", part)


COMMANDS = {
    "verify": CommandLine(add_verify, verify, "ldep verify models:/ldep-churn@champion --certificates evidence")
}
