"""What happened to a registered model, and the way back: `ldep history` and `ldep rollback`."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from ldep_pipeline.commands import CommandLine, positive_integer
from ldep_pipeline.registry import download, history, notifications, registration, rollback
from ldep_pipeline.registry.history import Event
from ldep_pipeline.registry.rollback import History
from ldep_pipeline.report import renderers

COLUMNS = tuple(renderers.Column(name, "left") for name in ("when", "version", "what", "by", "why"))


def add_history(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="DATASET", help="the data set whose model is meant")
    parser.add_argument("--json", action="store_true", help="print the history as JSON")


def show_history(args: Namespace) -> None:
    found = rollback.read(args.name)
    if args.json:
        events = history.as_json(found.events)
        print(json.dumps({"model": found.name, "champion": found.champion, "events": events}, indent=1))
        return
    print(text(found))


def text(found: History) -> str:
    """One line per event, the first one first, and the version that serves."""
    lines = []
    if found.events:
        rows = [[renderers.Cell(cell) for cell in _cells(event)] for event in found.events]
        lines.append(renderers.text(renderers.Table(COLUMNS, rows)))
    else:
        lines.append(f"{found.name} has no recorded history.")
    champion = "no version" if found.champion is None else f"version {found.champion}"
    lines.append(f"The champion of {found.name} is {champion}.")
    if found.is_unexplained:
        lines.append("The history does not say why: somebody moved the alias with another tool than ldep.")
    return "\n".join(lines)


def _cells(event: Event) -> list[str]:
    what = event.what
    if event.what == history.REGISTERED:
        what = f"{event.what}: {event.model}"
    elif event.what == history.ROLLED_BACK:
        what = f"{event.what} from version {event.instead_of}" if event.instead_of else event.what
    elif event.instead_of and event.what != history.CHALLENGED:
        what = f"{event.what}, instead of version {event.instead_of}"
    by = f"{event.by} ({event.decided_by})" if event.decided_by else event.by
    return [event.when.replace("T", " ").removesuffix("+00:00"), event.version, what, by, event.why]


def add_rollback(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="DATASET", help="the data set whose model is meant")
    parser.add_argument(
        "version",
        metavar="VERSION",
        nargs="?",
        type=positive_integer,
        help="the version that is to serve (default: the champion before the present one)",
    )
    parser.add_argument("--why", required=True, help="the reason, which the registry keeps")


def roll_back(args: Namespace) -> None:
    version = None if args.version is None else str(args.version)
    event = rollback.roll_back(args.name, version, args.why)
    facts = registration.facts(args.name, download.name_of(args.name), event)
    before = f" instead of version {event.instead_of}" if event.instead_of else ""
    print(
        f"Version {event.version} is the champion{before}. `ldep rollback {args.name} --why ...` takes this back, and "
        f"`dvc repro` draws the page of {args.name} again."
    )
    notifications.of_project("rollback", facts)


COMMANDS = {
    "history": CommandLine(add_history, show_history, "ldep history banana"),
    "rollback": CommandLine(add_rollback, roll_back, 'ldep rollback banana --why "wrong prices since Monday"'),
}
