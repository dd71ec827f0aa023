"""Snippets of params.yaml in the documentation, laid over the project's own parameters."""

from __future__ import annotations

from typing import Any

import yaml

from tests.support import pages


def overlaid(snippet: str) -> dict[str, Any]:
    """Return the parameters of the project with the sections of the snippet in place; classifiers are added."""
    values = yaml.safe_load((pages.ROOT / "params.yaml").read_text(encoding="utf-8"))
    changes = yaml.safe_load(snippet)
    classifiers = {**values["classifiers"], **changes.pop("classifiers", {})}
    return {**values, **changes, "classifiers": classifiers}
