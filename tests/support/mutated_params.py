"""Versions of params.yaml that something is wrong with, or at least odd: the same ones each time.

Half of them change a value or a key of the parsed file: then `keys` are the names on the way to what was changed. The
others damage the text, so there may be no key to name, but a line.
"""

from __future__ import annotations

import copy
import datetime
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

FILE = Path(__file__).parents[2] / "params.yaml"
OWN = {"mine": {"path": "data/own/my.csv", "target": "label", "ignore": ["id"], "delimiter": ";"}}
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    3.7,
    10**99,
    -(10**40),
    2**70,
    1e308,
    float("nan"),
    float("inf"),
    "",
    " ",
    "1e-8",
    "on",
    "x" * 5000,
    "🜚ℓ",
    "a\u0301\u202e",
    "{{ 7 * 7 }}",
    "${HOME}",
    "../../etc/passwd",
    "os.system",
    "sklearn.svm.SVC",
    [],
    [[]],
    [None],
    ["a", "a"],
    [1, "two", 3.0, None],
    {},
    {"": 1},
    {"a": {"b": {"c": [1, {"d": None}]}}},
    {1: 2},
    {None: None},
    {True: "yes"},
    datetime.date(2026, 11, 17),
    datetime.datetime(2026, 11, 17, 1, 2, 3),
    b"\x00\xff",
    {"choices": [1, "two", None]},
    {"low": 10**60, "high": 10**90, "log": True},
    list(range(300)),
    {f"key{number}": number for number in range(300)},
]
KEYS: list[Any] = [
    "datsets",
    "",
    " ",
    "ℓ",
    "🜚",
    "a.b",
    "x" * 500,
    1,
    2.5,
    True,
    None,
    "__class__",
    "model_config",
    "self",
]
SNIPPETS = [
    "\t",
    "\x00",
    "\ufeff",
    "\u2028",
    "\x07",
    ": ",
    "- ",
    "[",
    "{",
    "}",
    '"',
    "'",
    "&a ",
    "*a",
    "<<: *a",
    "!!python/object/apply:os.getcwd []",
    "!!binary |\n  ////",
    "!!set {a, b}",
    "!!omap [a: 1]",
    "!!timestamp x",
    "!!int x",
    "!!float x",
    "!!bool x",
    "!unknown x",
    "---\n",
    "...\n",
    "%YAML 9.9\n",
    "? [a, b]\n: c\n",
    "? {a: b}\n: c\n",
    "|\n",
    ">\n",
    "#",
    "0x" + "f" * 300,
    "0b2",
    "1_000",
    "190:20:30",
    ".inf",
    "~",
    "=",
    "2026-13-45",
    "2026-11-17T99:99:99Z",
    "9" * 5000,
    "1e999999",
]
BOMB = "".join(f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi"))
KEY_BOMB = "".join(f"{name}: &{name} {{? *{before} : *{before}}}\n" for before, name in zip("abcdefgh", "bcdefghi"))


class Mutation(NamedTuple):
    """The content of a file, what was done to it, and the names on the way to the change, where there are some."""

    content: bytes
    change: str
    keys: tuple[str, ...] = ()


def mutations(count: int, seed: int = 0) -> Iterator[Mutation]:
    rng = random.Random(seed)
    kinds = [_value, _key, _value, _text, _value, _several, _value, _structure, _removed, _text]
    for number in range(count):
        yield kinds[number % len(kinds)](rng)


def _base(rng: random.Random) -> dict[str, Any]:
    """The project's own file, with data of the user's in it, and in a part of the cases only two of its models."""
    values = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    values["own_data"] = copy.deepcopy(OWN)
    if rng.random() < 0.8:  # a file with fewer models is checked sooner
        values["models"] = ["ldep", "rbf_svc"]
    return values


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value below the root."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in pairs:
        yield (*path, key)
        yield from _places(child, (*path, key))


def _parent(values: Any, path: tuple[Any, ...]) -> Any:
    for part in path[:-1]:
        values = values[part]
    return values


def _place(rng: random.Random, values: dict[str, Any]) -> tuple[Any, ...]:
    """A random place; a section as likely as what is in it, since most places are settings in `classifiers`."""
    section = rng.choice(list(values))
    if rng.random() < 0.25 or not isinstance(values[section], (dict, list)) or not values[section]:
        return (section,)
    return (section, *rng.choice(list(_places(values[section]))))


def _dump(values: Any) -> bytes:
    return yaml.dump(values, sort_keys=False, allow_unicode=True, Dumper=yaml.Dumper).encode()


def _names(path: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(str(part) for part in path if isinstance(part, str))


def _value(rng: random.Random) -> Mutation:
    """Another value in one place."""
    values = _base(rng)
    path, odd = _place(rng, values), copy.deepcopy(rng.choice(ODD))
    _parent(values, path)[path[-1]] = odd
    return Mutation(_dump(values), f"{path} = {odd!r:.80}", _names(path))


def _several(rng: random.Random) -> Mutation:
    """Other values in up to twenty places."""
    values, changed = _base(rng), []
    for _ in range(rng.randint(2, 20)):
        path = _place(rng, values)
        _parent(values, path)[path[-1]] = copy.deepcopy(rng.choice(ODD))
        changed.append(path)
    return Mutation(_dump(values), f"{len(changed)} values", tuple({name for path in changed for name in _names(path)}))


def _key(rng: random.Random) -> Mutation:
    """A key that nobody declared, in one of the mappings."""
    values = _base(rng)
    mappings = [()] + [path for path in _places(values) if isinstance(_parent(values, (*path, None)), dict)]
    path = rng.choice(mappings)
    key = rng.choice(KEYS)
    _parent(values, (*path, None))[key] = copy.deepcopy(rng.choice(ODD))
    return Mutation(_dump(values), f"{path}: key {key!r:.80}", (*_names(path), str(key)))


def _removed(rng: random.Random) -> Mutation:
    values = _base(rng)
    path = _place(rng, values)
    del _parent(values, path)[path[-1]]
    return Mutation(_dump(values), f"without {path}", _names(path))


def _text(rng: random.Random) -> Mutation:
    """Damage to the text: cut, repeated, shifted, overwritten, or with something foreign in it."""
    text = FILE.read_text(encoding="utf-8") if rng.random() < 0.5 else _dump(_base(rng)).decode()
    lines = text.splitlines(keepends=True)
    where = rng.randrange(len(lines))
    changes: list[Callable[[], bytes]] = [
        lambda: text[: rng.randrange(len(text))].encode(),
        lambda: "".join([*lines[:where], lines[where], *lines[where:]]).encode(),
        lambda: "".join([*lines[:where], "\t", *lines[where:]]).encode(),
        lambda: "".join([*lines[:where], " ", *lines[where:]]).encode(),
        lambda: "".join([*lines[:where], *lines[where + 1 :]]).encode(),
        lambda: "".join([*lines[:where], rng.choice(SNIPPETS), *lines[where:]]).encode(),
        lambda: _inserted(rng, text, rng.choice(SNIPPETS)).encode(),
        lambda: _overwritten(rng, text.encode()),
        lambda: text.encode(rng.choice(["utf-16", "utf-32", "utf-8-sig", "utf-16-le"])),
        lambda: (text + text).encode(),
    ]
    kind = rng.randrange(len(changes))
    return Mutation(changes[kind](), f"text, change {kind}, line {where + 1}")


def _inserted(rng: random.Random, text: str, snippet: str) -> str:
    where = rng.randrange(len(text))
    return text[:where] + snippet + text[where:]


def _overwritten(rng: random.Random, content: bytes) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.randint(1, 5)):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


def _structure(rng: random.Random) -> Mutation:
    """Depth, aliases, bombs, endless numbers, and files that are no mapping."""
    good = _dump(_base(rng)).decode()
    depth = rng.choice([5, 49, 60, 900, 5000, 100_000])
    start = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    structures = [
        "x: " + "[" * depth + "]" * depth + "\n" + good,
        "x: " + "{a: " * depth + "1" + "}" * depth + "\n" + good,
        "".join(f"{' ' * level}k:\n" for level in range(min(depth, 900))) + good,
        good.replace("seed: 1", "seed: " + "9" * rng.choice([30, 99, 101, 5000, 500_000])),
        good.replace("margin: 0.0", "margin: 0." + "3" * rng.choice([30, 5000, 500_000])),
        start + BOMB + good,
        "a: &a {x: y}\n" + KEY_BOMB + good,
        "a: &a [*a]\n" + good,
        "a: &a {a: *a}\n" + good,
        "a: &a {<<: *a}\n" + good,
        "x: &x {timeout: 3}\n" + good.replace("data:\n", "data:\n  <<: *x\n", 1),
        "x: *undefined\n" + good,
        good + f"? {'x' * 2000}\n: 1\n",
        "x: " + "y" * 2_000_000 + "\n" + good,
        "".join(f"k{number}: {number}\n" for number in range(rng.choice([100, 20_000]))) + good,
        "[" + "1, " * rng.choice([10, 120_000]) + "1]",
        *(
            "",
            "\n",
            "#\n",
            "null",
            "7",
            "text",
            "- a\n- b\n",
            "---\n---\n",
            "{}",
            "[]",
            "datasets",
            "datasets:",
            "\x00",
        ),
        good.replace("\n", "\r"),
        good.replace("\n", "\r\n"),
        good.replace("\n", "\u2028"),
        good.replace("  ", "\t"),
        good.replace(": ", ":"),
        good.replace("banana", "Banana\u200b"),
        good.replace("trials: 24", "trials: 24\n    trials: 25"),
    ]
    kind = rng.randrange(len(structures))
    return Mutation(structures[kind].encode(), f"structure {kind}")
