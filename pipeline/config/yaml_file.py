"""Reading a YAML file of a user: duplicate keys, endless numbers and alias bombs are refused with a line number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from pipeline.common.errors import UserError, first_line, short

LARGEST_FILE = 1_000_000  # bytes
LARGEST_TREE = 100_000  # values, with each alias counted as what it stands for
LONGEST_NUMBER = 100  # characters
LONGEST_MESSAGE = 500  # characters of PyYAML's message, which may repeat a value
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
        raise UserError(f"{path} does not exist; run this in the project folder, or pass --params.") from None
    except RecursionError:
        raise UserError(f"{path} is nested too deeply.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}.") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2026-99-99
        raise UserError(f"{path} is not valid YAML: {' '.join(str(error).split())[:LONGEST_MESSAGE]}.") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:  # PyYAML's own, for `!!bool x`
        raise UserError(f"{path} is not valid YAML: a value does not fit its tag ({first_line(error)}).") from None


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
