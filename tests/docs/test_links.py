"""Relative links and anchors in the Markdown files resolve."""

from __future__ import annotations

import pytest

from tests.support import pages


@pytest.mark.parametrize("page", pages.PAGES, ids=pages.name)
def test_relative_links_and_anchors_resolve(page):
    for link in pages.links(page):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{pages.name(page)}: {link} does not exist"
        assert target.is_relative_to(pages.ROOT), f"{pages.name(page)}: {link} is outside the project"
        if anchor:
            assert anchor in pages.anchors(target), f"{pages.name(page)}: {link}: no such heading"


def test_there_are_links_to_check():
    assert sum(len(pages.links(page)) for page in pages.PAGES) > 50


def test_every_page_is_in_a_table_of_contents():
    index = (pages.ROOT / "docs/index.md").read_text(encoding="utf-8")
    for page in pages.ROOT.glob("docs/*.md"):
        assert page.name == "index.md" or f"\n{page.stem}\n" in index, f"{page.name} is in no table of contents"
