"""The site builds without a warning and loads nothing from other servers."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support import pages


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--fail-on-warning", "--keep-going", "-d", folder / "doctrees", "-c", "docs"]
    command = [sys.executable, "-m", "sphinx", *options, ".", folder / "html"]
    done = subprocess.run(command, cwd=pages.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_every_page_is_built(site):
    for page in pages.ROOT.glob("docs/*.md"):
        assert (site / f"docs/{page.stem}.html").is_file()


def test_nothing_is_loaded_from_other_servers(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=\"([^\"]+)\"", text)
        assert loaded or page.name == "report.html"  # which is self-contained
        assert not [address for address in loaded if address.startswith(("http:", "https:", "//"))], page
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")), style


def test_formulas_are_mathml(site):
    text = (site / "docs/model.html").read_text(encoding="utf-8")
    assert text.count("<math") > 50
    assert "$" not in re.sub(r"<(code|pre|script|style).*?</\1>", "", text, flags=re.DOTALL)


def test_api_page_contains_the_docstrings(site):
    text = (site / "docs/api.html").read_text(encoding="utf-8")
    for name in ("ldep.LDEPClassifier.explain", "ldep.LDEPClassifierCV", "ldep.MaxoutClassifier.predict_proba"):
        assert f'id="{name}"' in text
    assert "Number of affine pieces" in text
