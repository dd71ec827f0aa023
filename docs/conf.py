"""The documentation as a site: `make docs`. The source folder is the repository, so that links hold there and here."""

from __future__ import annotations

import re
from importlib.metadata import version as version_of
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "ldep"
author = "The ldep developers"
copyright = "2026, the ldep developers"
version = release = version_of("ldep")

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = ["docs/*.md", "docs/images/*", "C*.md", "SECURITY.md", "reports/**"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

default_role = "code"  # `x` in docstrings
autodoc_default_options = {"member-order": "bysource"}
autodoc_typehints = "signature"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"ldep {release}"
html_copy_source = False
html_math_renderer = "mathml"
html_static_path: list[str] = []


def mathml(self: Any, node: nodes.Element) -> None:
    """A formula as MathML, which browsers draw by themselves: no script, nothing from elsewhere."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    self.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


def fitted_names(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """scikit-learn's names of what was fitted end in an underscore, which reStructuredText takes for a reference."""
    for number, line in enumerate(lines):
        if ">>>" not in line and "`" not in line:
            lines[number] = re.sub(r"(?<=\w)_(?=[\s,)])", r"\_", line)


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-docstring", fitted_names, priority=900)  # after numpydoc
    app.add_lexer("mermaid", TextLexer)  # GitHub draws these blocks; on the site they are text
    app.add_html_math_renderer("mathml", inline_renderers=(mathml, None), block_renderers=(mathml, None))
