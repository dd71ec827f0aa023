"""The command `ldep keys`: the keys that sign registered models, and those that the project trusts."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from ldep_pipeline.commands import CommandLine
from ldep_pipeline.config import paths
from ldep_pipeline.registry import keys
from ldep_pipeline.registry.keys import TrustedKeys
from ldep_pipeline.report import renderers

COMMIT = f"Commit {paths.TRUSTED_KEYS}, so that others verify with it."
COLUMNS = tuple(renderers.Column(name, "left") for name in ("key", "state", "since", "until", "name", "public key"))


def add_keys(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="what", metavar="ACTION", title="actions (default: show)")
    actions.add_parser("show", help="list the trusted keys, and say which of them this clone signs with")
    new = actions.add_parser("new", help="make the key of this clone; the first `ldep register` does it by itself")
    rotate = actions.add_parser("rotate", help="replace the key of this clone; what the old one signed stays trusted")
    for parser_ in (new, rotate):
        parser_.add_argument("--name", default="", help="who signs with the key (default: the user and the machine)")
    revoke = actions.add_parser("revoke", help="trust nothing any more that a key has signed")
    revoke.add_argument("key", metavar="KEY", help="the key, as `ldep keys show` names it")
    revoke.add_argument("--why", default="", help="the reason, kept in the file")
    trust = actions.add_parser("trust", help="trust a public key of somebody else")
    trust.add_argument("public", metavar="PUBLIC", help="the public key, as `ldep keys show` prints it there")
    trust.add_argument("--name", required=True, help="whose key it is")


def run(args: Namespace) -> None:
    if args.what == "new":
        print(f"{keys.path()} holds the new key {keys.new(name=args.name).id}. {COMMIT}")
    elif args.what == "rotate":
        old, key = keys.rotate(name=args.name)
        print(f"{keys.path()} holds the new key {key.id} in the place of {old}. {COMMIT}")
    elif args.what == "revoke":
        keys.revoke(args.key, args.why)
        print(f"The models that the key {args.key} signed are no longer loaded. {COMMIT}")
        own = keys.read()
        if own is not None and own.id == args.key:
            print("It is the key of this clone: `ldep keys rotate` makes a new one.")
    elif args.what == "trust":
        print(f"The models that the key {keys.trust(args.public, args.name)} signs are loaded now. {COMMIT}")
    else:
        show()


def show(root: Path = Path()) -> None:
    own, trusted = keys.read(root), TrustedKeys.read(root).by_id
    rows = [[key.id, key.state, key.since, key.until, key.name, key.public] for key in trusted.values()]
    if rows:
        cells = [[renderers.Cell(text) for text in row] for row in rows]
        print(renderers.text(renderers.Table(COLUMNS, cells)))
    else:
        print(f"{paths.TRUSTED_KEYS} lists no key: no registered model is loaded.")
    if own is None:
        print(f"This clone has no key to sign with: {keys.path(root)} does not exist. It can verify all the same.")
    else:
        state = trusted[own.id].state if own.id in trusted else f"not in {paths.TRUSTED_KEYS}"
        print(f"This clone signs with {own.id} ({state}), public key {own.public}.")


COMMANDS = {"keys": CommandLine(add_keys, run, "ldep keys rotate")}
