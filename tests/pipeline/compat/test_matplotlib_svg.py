"""The contract with matplotlib: what `matplotlib_svg` assumes of the SVG that it writes."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

import matplotlib
import pytest
from matplotlib.figure import Figure

from ldep_pipeline.compat import matplotlib_svg
from ldep_pipeline.compat.matplotlib_svg import HREF, SVG

COLOURS = {"#0b6cad": "ldep", "#c26a00": "svc", "#1d2433": "ink"}


@pytest.fixture(scope="module")
def svg() -> str:
    """A figure with lines, markers, text, clipping and pixels."""
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "x", "text.color": "#1d2433"}):
        figure = Figure(figsize=(3, 2))
        axes = figure.subplots()
        axes.plot([1, 2, 3], [1, 4, 2], color="#0b6cad")
        axes.scatter([1, 2, 3, 1], [2, 3, 3, 1], color="#c26a00")
        axes.contourf([[0, 1], [1, 0]]).set_rasterized(True)
        axes.text(1, 1, "3.14159 < 4", color="#1d2433")
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return text.getvalue()


@pytest.fixture(scope="module")
def themed(svg) -> ElementTree.Element:
    return ElementTree.fromstring(matplotlib_svg.themed(svg, "plot", COLOURS, "var(--font)"))


def styles(root: ElementTree.Element) -> str:
    sheet = root.find(f"{{{SVG}}}style")
    assert sheet is not None
    return (sheet.text or "") + "".join(element.get("style", "") for element in root.iter())


def test_matplotlib_writes_colours_in_style_attributes(svg, themed):
    for colour, name in COLOURS.items():
        assert f": {colour}" in svg
        assert colour not in styles(themed)
        assert f"var(--{name})" in styles(themed)


def test_matplotlib_writes_text_as_text_in_a_font_of_its_own(themed):
    texts = [element.text for element in themed.iter(f"{{{SVG}}}text")]
    assert "3.14159 < 4" in texts  # its digits are no coordinates
    assert "var(--font)" in styles(themed)
    assert "DejaVu" not in styles(themed)


def test_every_reference_is_to_an_id_with_the_prefix(themed):
    ids = {element.get("id") for element in themed.iter()} - {None}
    references = {element.get(HREF, "")[1:] for element in themed.iter() if element.get(HREF, "").startswith("#")}
    clips = re.findall(r"url\(#([^)]*)\)", ElementTree.tostring(themed, encoding="unicode"))
    assert references
    assert clips
    assert references | set(clips) <= ids
    assert all(str(name).startswith("plot-") for name in ids)


def test_the_picture_scales_with_the_page(svg, themed):
    assert re.search(r'<svg [^>]*width="216pt"', svg)
    assert themed.get("viewBox") == "0 0 216 144"
    assert themed.get("style", "").startswith("max-width:331px")
    assert themed.get("width") is None


def test_pixels_and_paths_remain(svg, themed):
    for tag in ("path", "use", "image", "text", "clipPath"):
        assert len(list(themed.iter(f"{{{SVG}}}{tag}"))) == svg.count(f"<{tag} "), tag


def test_the_text_is_smaller_and_has_no_metadata(svg):
    text = matplotlib_svg.themed(svg, "plot", COLOURS, "var(--font)")
    assert len(text) < 0.8 * len(svg)
    assert "metadata" not in text
    assert matplotlib_svg.with_style(text, ":root{--ink:#000}").count("<style>:root{--ink:#000}") == 1
