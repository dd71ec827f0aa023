"""The encoder as part of an ONNX graph: from numbers, texts and dates to features without gaps."""

from __future__ import annotations

import numpy as np

from ldep.export.graph import ROWS, Graph
from pipeline.encoding.dates import DAY, PARTS
from pipeline.serving import onnx_cells
from pipeline.serving.portable import RawColumns

NUMBERS, TEXTS, DATES = "numbers", "texts", "dates"


def add(graph: Graph, portable: RawColumns) -> str:
    """Add the inputs and what turns them into features, before scaling."""
    numeric, nominal, dates = (portable.of_kind(kind) for kind in ("numeric", "nominal", "date"))
    parts, places = [], {}
    if numeric:
        parts.append(graph.input(NUMBERS, np.float64, [ROWS, len(numeric)]))
    if nominal:
        texts = graph.input(TEXTS, np.dtype(object), [ROWS, len(nominal)])
        categories = [column.categories or [] for column in nominal]
        parts.append(onnx_cells.add_codes(graph, texts, categories, [column.values for column in nominal]))
    for place, column in enumerate([*numeric, *nominal]):
        places[column.name, "value"] = place
    if dates:
        moments = graph.input(DATES, np.float64, [ROWS, len(dates)])
        first = len(places)
        for k, (part, values) in enumerate(_date_parts(graph, moments).items()):
            parts.append(values)
            for place, column in enumerate(dates):
                places[column.name, part] = first + k * len(dates) + place
    numbers = parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=1)
    return _features(graph, portable, numbers, places)


def _features(graph: Graph, portable: RawColumns, numbers: str, places: dict[tuple[str, str], int]) -> str:
    """Gather the number of each feature; then compare, mark and fill."""
    kinds = np.array([feature.kind for feature in portable.features])
    names = [portable.columns[feature.column].name for feature in portable.features]
    order = []
    for name, kind in zip(names, kinds):
        of_date = PARTS[0] if (name, PARTS[0]) in places else "value"
        order.append(places[name, kind if kind in PARTS else of_date])
    if order != list(range(len(places))):
        numbers = graph.node("Gather", numbers, graph.constant(order), axis=1)
    missing = graph.node("IsNaN", numbers)
    X, filled = numbers, missing
    if "equals" in kinds:
        codes = np.array([feature.code for feature in portable.features])
        same = graph.node("Equal", numbers, graph.constant(codes))
        same = graph.node("Cast", same, to=graph.onnx.TensorProto.DOUBLE)
        X = graph.node("Where", graph.constant(kinds == "equals"), same, X)
    if "missing" in kinds:
        is_indicator = graph.constant(kinds == "missing")
        marks = graph.node("Cast", missing, to=graph.onnx.TensorProto.DOUBLE)
        X = graph.node("Where", is_indicator, marks, X)
        filled = graph.node("And", missing, graph.constant(kinds != "missing"))
    return graph.node("Where", filled, graph.constant(portable.fill), X)


def _date_parts(graph: Graph, moments: str) -> dict[str, str]:
    """The parts of `pipeline.encoding.dates.features`, by the same arithmetic."""

    def floor(value: str, divisor: float) -> str:
        return graph.node("Floor", graph.node("Div", value, graph.constant(float(divisor))))

    def times(value: str, factor: float) -> str:
        return graph.node("Mul", value, graph.constant(float(factor)))

    def plus(first: str, second: str | float) -> str:
        return graph.node("Add", first, second if isinstance(second, str) else graph.constant(float(second)))

    def minus(first: str, second: str) -> str:
        return graph.node("Sub", first, second)

    days = floor(moments, DAY)
    shifted = plus(days, 730_425)
    era = floor(shifted, 146_097)
    day_of_era = minus(shifted, times(era, 146_097))
    leaps = plus(minus(floor(day_of_era, 1460), floor(day_of_era, 36_524)), floor(day_of_era, 146_096))
    year_of_era = floor(minus(day_of_era, leaps), 365)
    before = minus(plus(times(year_of_era, 365), floor(year_of_era, 4)), floor(year_of_era, 100))
    march_month = floor(plus(times(minus(day_of_era, before), 5), 2), 153)
    in_next_year = floor(march_month, 10)
    from_monday = plus(days, 5)
    return {
        "year": plus(plus(times(era, 400), year_of_era), in_next_year),
        "month": minus(plus(march_month, 3), times(in_next_year, 12)),
        "weekday": minus(from_monday, times(floor(from_monday, 7), 7)),
        "days": days,
        "hour": graph.node("Div", minus(moments, times(days, DAY)), graph.constant(3600.0)),
    }
