"""Rewrites the SVG that matplotlib writes: colours become CSS variables, ids become unique, the file shrinks.

Reason: matplotlib has no public way to write CSS variables or classes, so a figure cannot follow the light or dark
theme of its reader. Nor can it prefix ids (`svg.hashsalt` makes them reproducible, not unique), and two figures in one
HTML page must not share them.

What is assumed of matplotlib (3.11), and checked by tests/pipeline/compat/test_matplotlib_svg.py: colours and fonts
are written in `style` attributes, colours as lower-case `#rrggbb`; text is written as <text> with
`svg.fonttype: none`; references are `#id` in `xlink:href` and `url(#id)` elsewhere; the root has a size in points.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from xml.etree import ElementTree

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
HREF = f"{{{XLINK}}}href"
PIXELS_PER_POINT = 4 / 3
LARGEST_SCALE = 1.15  # a figure fills its column, but is not enlarged by more than this
COMMON_STYLE = "stroke-linejoin:round;stroke-linecap:butt"  # what matplotlib's own style sheet says about everything

ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)


def themed(svg: str, prefix: str, variables: Mapping[str, str], font: str) -> str:
    """Return the SVG element for use inside an HTML page.

    prefix: put before every id and class. variables: {colour: name of its CSS variable}. font: the CSS value of
    `font-family` for all text.
    """
    root = ElementTree.fromstring(svg)
    width = float(root.attrib["width"].removesuffix("pt")) * PIXELS_PER_POINT
    _remove(root, "metadata")
    _remove(root, "style")
    for element in root.iter():
        _rewrite(element, prefix, variables, font)
    _remove_empty_groups(root)
    style = ElementTree.Element(f"{{{SVG}}}style")
    style.text = _style_to_classes(root, prefix)
    style.tail = "\n"
    root.insert(0, style)
    view_box = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib.update(viewBox=view_box, style=f"max-width:{LARGEST_SCALE * width:.0f}px;{COMMON_STYLE}")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def with_style(svg: str, css: str) -> str:
    """Add rules to the style sheet of an SVG that `themed` returned, so that it can stand alone."""
    return svg.replace("<style>", f"<style>{css}", 1)


def _remove(root: ElementTree.Element, tag: str) -> None:
    for parent in list(root.iter()):
        for child in parent.findall(f"{{{SVG}}}{tag}"):
            parent.remove(child)


def _rewrite(element: ElementTree.Element, prefix: str, variables: Mapping[str, str], font: str) -> None:
    attributes = element.attrib
    if element.tag == f"{{{SVG}}}g":
        attributes.pop("id", None)  # nothing refers to a group
    if attributes.get("transform", "").startswith("rotate(-0 "):
        del attributes["transform"]
    for name, value in attributes.items():
        if name == "id":
            attributes[name] = f"{prefix}-{value}"
        elif name == HREF and value.startswith("#"):
            attributes[name] = f"#{prefix}-{value[1:]}"
        elif name == "style":
            attributes[name] = _themed_style(value, prefix, variables, font)
        elif name in ("d", "x", "y"):
            attributes[name] = _shortened(value)
        else:
            attributes[name] = value.replace("url(#", f"url(#{prefix}-")
    # Indentation is most of the white space; the text of <text> elements is kept as it is.
    if element.text and not element.text.strip():
        element.text = "\n"
    if element.tail:
        element.tail = "\n"


def _themed_style(style: str, prefix: str, variables: Mapping[str, str], font: str) -> str:
    declarations = []
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font-family":
            value = font
        value = f"var(--{variables[value]})" if value in variables else value.replace("url(#", f"url(#{prefix}-")
        declarations.append(f"{name}:{value}")
    return ";".join(declarations)


def _shortened(numbers: str) -> str:
    """Coordinates to a tenth of a point, without the spaces that separate nothing."""
    rounded = re.sub(r"(\.\d)\d+", r"\1", numbers)
    return re.sub(r"\s*([MLCQ]) | (z)\s*", r"\1\2", rounded).replace("\n", "")


def _remove_empty_groups(root: ElementTree.Element) -> None:
    for parent in list(root.iter()):
        for child in parent.findall(f"{{{SVG}}}g"):
            if not len(child) and not child.attrib:
                parent.remove(child)


def _style_to_classes(root: ElementTree.Element, prefix: str) -> str:
    """Turn styles that many elements share into classes, which halves the size; return their rules."""
    counts = Counter(element.attrib["style"] for element in root.iter() if "style" in element.attrib)
    classes = {
        style: f"{prefix}-{number}"
        for number, style in enumerate(style for style, count in counts.most_common() if count > 2)
    }
    for element in root.iter():
        if element.attrib.get("style") in classes:
            element.attrib["class"] = classes[element.attrib.pop("style")]
    return "".join(f".{name}{{{style}}}" for style, name in classes.items())
