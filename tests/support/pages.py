"""The Markdown of the project: its pages, and the code blocks, links and anchors in them."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
WRITTEN = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "data/own/README.md"])
PAGES = [*WRITTEN, *sorted(ROOT.glob("reports/**/*.md"))]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{name(self.page)}:{self.line}"


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, *languages: str) -> list[Block]:
    """The fenced blocks of a page in these languages (all, if none is named), in their order."""
    text = page.read_text(encoding="utf-8")
    found = [Block(page, text[: match.start()].count("\n") + 1, match[1], match[2]) for match in FENCE.finditer(text)]
    return [block for block in found if not languages or block.language in languages]


def links(page: Path) -> list[str]:
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
    return LINK.findall(text)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def commands(block: Block) -> Iterator[list[str]]:
    """The words of each command of a shell block: also of those after `&&` and `|`, and of one that `xargs` runs."""
    for line in _lines(block):
        words = shlex.shlex(line, posix=True, punctuation_chars="|&;")
        words.whitespace_split, words.commenters = True, ""
        for is_separator, command in itertools.groupby(words, key=lambda word: not word.strip("|&;")):
            if not is_separator:
                yield _without_prefix(list(command))


def _without_prefix(words: list[str]) -> list[str]:
    """A command without the variables before it, and without `xargs`; an assignment alone has no words."""
    if words[0] == "xargs":
        words = list(itertools.dropwhile(lambda word: word.startswith("-") or word.isdigit(), words[1:]))
    return list(itertools.dropwhile(lambda word: "=" in word and not word.startswith("-"), words))


def _lines(block: Block) -> Iterator[str]:
    """The lines of a shell block, without comments and here-documents; what `\\` continues is one line."""
    text = re.sub(r"<<'(\w+)'\n.*?^\1$", "", block.text, flags=re.MULTILINE | re.DOTALL).replace("\\\n", " ")
    for line in text.splitlines():
        if command := re.sub(r"(^|\s)#.*", "", line).strip():
            yield command
