"""A YAML file of a user. Read, duplicate keys, endless numbers and alias bombs are refused with a line number. Changed,
its comments and its layout stay: `dvc exp run -S` writes the whole file again, without its comments.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from ldep_pipeline.common.errors import UserError, first_line, short

LARGEST_FILE = 1_000_000  # bytes
LARGEST_TREE = 100_000  # values, with each alias counted as what it stands for
LONGEST_NUMBER = 100  # characters
LONGEST_MESSAGE = 500  # characters of PyYAML's message, which may repeat a value
LINE_LENGTH = 120  # of a line that is written
DEEPEST = 50  # levels of nesting


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:  # PyYAML would silently use the last one
                line = key.start_mark.line + 1
                name = short(key.value)
                raise _error(f"the key '{name}' appears twice, the second time in line {line}; remove one of them")
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        if len(node.value) > LONGEST_NUMBER:
            raise _error(f"the number in line {node.start_mark.line + 1} has {len(node.value)} digits")
        return super().construct_yaml_int(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)


def read_yaml(path: Path) -> Any:
    """The content of a file; UserError says what is wrong with it, and in which line."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UserError(f"{path} is larger than {LARGEST_FILE:,} bytes.")
        loader = _Loader(path.read_text(encoding="utf-8"))
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _check_size(node)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; {_where_to_run(path)}.") from None
    except RecursionError:
        raise UserError(f"{path} is nested too deeply.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}.") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2026-99-99
        raise UserError(f"{path} is not valid YAML: {' '.join(str(error).split())[:LONGEST_MESSAGE]}.") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:  # PyYAML's own, for `!!bool x`
        raise UserError(f"{path} is not valid YAML: a value does not fit its tag ({first_line(error)}).") from None


def _where_to_run(path: Path) -> str:
    """What to do if the file is missing: it may be in a folder above, or there may be no project yet."""
    for folder in Path.cwd().parents:
        if (folder / path).is_file() and (folder / "dvc.yaml").is_file():
            return f"run this in {folder}, or pass --params"
    return "run this in the project folder, pass --params, or make a project with `ldep init`"


def with_value(text: str, key: Sequence[str], value: Any) -> str:
    """The text of a file with another value of a key, which is a path into the file."""
    mapping = yaml.compose(text, Loader=yaml.SafeLoader)
    for part in key[:-1]:
        mapping = _entry(mapping, part)[1]
    for name, old in mapping.value:
        if name.value == key[-1]:
            return _replaced(text, name, old, value, inside_flow=bool(mapping.flow_style))
    return _added(text, mapping, key[-1], value)


def _check_size(root: yaml.Node) -> None:
    """Refuse a document that is too large or too deep once its aliases are replaced by what they stand for."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def size(node: yaml.Node, depth: int) -> int:
        line = node.start_mark.line + 1
        if id(node) in open_nodes:
            raise _error(f"the value in line {line} contains itself")
        if depth > DEEPEST:
            raise _error(f"line {line} is nested more than {DEEPEST} levels deep")
        if id(node) not in sizes:
            open_nodes.add(id(node))
            sizes[id(node)] = 1 + sum(size(child, depth + 1) for child in _children(node))
            open_nodes.remove(id(node))
        if sizes[id(node)] > LARGEST_TREE:
            raise _error(f"the value in line {line} has more than {LARGEST_TREE:,} parts")
        return sizes[id(node)]

    size(root, 0)


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _error(problem: str) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem)


def _entry(mapping: yaml.MappingNode, key: str) -> tuple[yaml.Node, yaml.Node]:
    return next((name, value) for name, value in mapping.value if name.value == key)


def _replaced(text: str, name: yaml.Node, old: yaml.Node, value: Any, *, inside_flow: bool) -> str:
    """The text with a new value of an existing key. A comment behind the key stays where it is."""
    start, end = old.start_mark.index, _end(old)
    between = text[name.end_mark.index : start]
    if "\n" not in between:
        written = _written(name.value, value, name.start_mark.column, inside_flow)
        if written.startswith("\n"):  # a block, which a comment at the end of the line must not follow
            rest, newline, after = text[end:].partition("\n")
            return f"{text[:start].rstrip()}{rest}{written}{newline}{after}"
        return f"{text[:start]}{written}{text[end:]}"
    colon, _, comment = between.partition("\n")[0].partition("#")
    written = _written(name.value, value, name.start_mark.column, inside_flow)
    comment = f" #{comment}" if comment else ""
    head = f"{colon.rstrip()}{comment}{written}" if written.startswith("\n") else f"{colon.rstrip()} {written}{comment}"
    return f"{text[: name.end_mark.index]}{head}{text[end:]}"


def _added(text: str, mapping: yaml.MappingNode, key: str, value: Any) -> str:
    """The text with a new key at the end of a mapping."""
    if mapping.flow_style:
        start, end = mapping.start_mark.index, mapping.end_mark.index
        entries = [entry for entry in (text[start + 1 : end - 1].strip(), f"{key}: {_flow(value)}") if entry]
        return f"{text[:start]}{{{', '.join(entries)}}}{text[end:]}"
    end, column = _end(mapping), mapping.start_mark.column
    rest, newline, after = text[end:].partition("\n")
    written = _written(key, value, column, False)
    entry = f"{' ' * column}{key}:{'' if written.startswith(chr(10)) else ' '}{written}"
    return f"{text[:end]}{rest}\n{entry}{newline}{after}"


def _end(node: yaml.Node) -> int:
    """Where the text of a value ends. PyYAML counts the blank lines and comments after a block as part of it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(node, yaml.MappingNode) else last)
    return node.end_mark.index


def _written(key: str, value: Any, column: int, inside_flow: bool) -> str:
    """A value on the line of its key if it fits there, else as a block below it."""
    line = _flow(value)
    if inside_flow or not isinstance(value, (dict, list)) or column + len(key) + 2 + len(line) <= LINE_LENGTH:
        return line
    block = yaml.safe_dump(value, default_flow_style=False, sort_keys=False, allow_unicode=True, width=LINE_LENGTH)
    return "".join(f"\n{' ' * (column + 2)}{row}" for row in block.rstrip("\n").split("\n"))


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**9)
    return text.removesuffix("\n").removesuffix("\n...").strip()
