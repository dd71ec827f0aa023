"""What we know of MLflow's web UI beyond its documentation: saved views with charts, the kind of an experiment, links.

Reason: an experiment with a hundred runs opens as one long list, and its charts have to be arranged by hand. A saved
view filters, groups and sorts the runs and holds charts, and MLflow has no API to make one: its UI keeps a view as JSON
in a tag of the experiment, and the kind of the experiment, which hides the pages for language models, in another. We
write these tags; we patch nothing. A UI that no longer knows them shows the plain list.
Version: MLflow 3.17, which calls the form of a saved view internal.
Contract: tests/pipeline/compat/test_mlflow_ui.py looks for these names in the UI that is installed with MLflow, and
`make ui-test` opens the views in a browser.
"""

from __future__ import annotations

import base64
import json
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

VIEW = "mlflow.sharedViewState."  # a tag; the name of the view follows
KIND, KIND_OF_TRAINING = "mlflow.experimentKind", "custom_model_development"
# Columns by their names inside the UI: ticks, name, time of creation, duration. Without an order it sorts them by name.
FIRST_COLUMNS, LAST_COLUMNS = ("1", "attributes.`Run Name`", "runDateAndNestInfo"), ("duration",)
NARROW = 75  # pixels
WIDEST = 2  # charts side by side
SHARE_KEY, WORKFLOW, WORKFLOW_OF_TRAINING = "viewStateShareKey", "workflowType", "machine_learning"
MODE, CHARTS = "compareRunsMode", "CHART"
COMPRESSED = "deflate;"  # zlib and base64 follow
UI_SECTIONS = ("Model metrics", "System metrics")  # to which the UI adds a chart for each metric; folded

Chart = dict[str, Any]


def link(experiment: str, view: str, charts: bool = False) -> str:
    """The address of a saved view, within the UI."""
    mode = f"&{MODE}={CHARTS}" if charts else ""
    return f"#/experiments/{experiment}/runs?{SHARE_KEY}={view}&{WORKFLOW}={WORKFLOW_OF_TRAINING}{mode}"


def artifact_link(experiment: str, run_id: str, path: str) -> str:
    """The address of a file of a run, within the UI."""
    return f"#/experiments/{experiment}/runs/{run_id}/artifacts/{path}"


@dataclass(frozen=True)
class Axis:
    """A metric or a parameter of the runs on an axis of a chart."""

    name: str
    is_parameter: bool = False

    def state(self) -> dict[str, str]:
        return {"key": self.name, "type": "PARAM" if self.is_parameter else "METRIC"}


def parallel_coordinates(parameters: Sequence[str], metric: str) -> Chart:
    """One line per run through its parameters, coloured by the metric."""
    return {
        "type": "PARALLEL",
        "selectedParams": list(parameters),
        "selectedMetrics": [metric],
        "showAllRuns": True,
    }


def scatter(x: Axis, y: Axis) -> Chart:
    return {"type": "SCATTER", "xaxis": x.state(), "yaxis": y.state(), "runsCountToCompare": 100}


def contour(x: Axis, y: Axis, z: Axis) -> Chart:
    return {"type": "CONTOUR", "xaxis": x.state(), "yaxis": y.state(), "zaxis": z.state()}


def steps(metric: str) -> Chart:
    """A line per run over the steps of a metric."""
    return {
        "type": "LINE",
        "metricKey": metric,
        "selectedMetricKeys": [metric],
        "lineSmoothness": 0,
        "useGlobalLineSmoothing": False,
        "displayPoints": True,
        "xAxisKey": "step",
        "xAxisScaleType": "linear",
        "scaleType": "linear",
        "range": {},
        "yAxisKey": "metric",
        "runsCountToCompare": 20,
    }


def differences() -> Chart:
    """A table with one column per run: metrics, parameters and tags side by side."""
    groups = ["Model metrics", "Parameters"]
    return {"type": "DIFFERENCE", "compareGroups": groups, "showDifferencesOnly": True, "baselineColumnUuid": ""}


@dataclass(frozen=True)
class Group:
    """Runs with the same value of a tag. `summary` is what their row shows: "average", "min" or "max"."""

    tag: str
    summary: str

    def state(self) -> dict[str, object]:
        return {"aggregateFunction": self.summary, "groupByKeys": [{"mode": "tag", "groupByData": self.tag}]}


@dataclass(frozen=True)
class View:
    """A view of the runs that match a filter, sorted by the first of its metrics, with its charts in titled sections.

    `columns` are tags and parameters that are shown beside the names, before the metrics. A view without a title is not
    in the menu *Views*; only a link leads to it.
    """

    title: str
    where: str
    metrics: Sequence[str]
    ascending: bool
    columns: Sequence[str] = ()
    group: Group | None = None
    charts: Mapping[str, Sequence[Chart]] = field(default_factory=dict)

    def text(self) -> str:
        """The value of the view's tag."""
        saved = json.dumps(self.state())
        if not self.title:
            return COMPRESSED + base64.b64encode(zlib.compress(saved.encode())).decode()
        return json.dumps({"name": self.title, "createdAt": int(time.time() * 1000), "state": saved})

    def is_saved_as(self, text: str | None) -> bool:
        """Whether a tag has this view."""
        if text is None or not self.title:
            return text == self.text()
        try:
            saved = json.loads(text)
            return bool(saved["name"] == self.title and json.loads(saved["state"]) == self.state())
        except (ValueError, KeyError, TypeError):  # somebody has written something else there
            return False

    def state(self) -> dict[str, object]:
        """Every field that the UI saves, whether or not it matters here: the UI does not fill in missing ones."""
        metrics = [f"metrics.`{name}`" for name in self.metrics]
        state: dict[str, object] = {
            "searchFilter": self.where,
            "orderByKey": metrics[0],
            "orderByAsc": self.ascending,
            "startTime": "ALL",
            "lifecycleFilter": "Active",
            "modelVersionFilter": "All Runs",
            "datasetsFilter": [],
            "selectedColumns": [*self.columns, *metrics],
            "columnOrder": [*FIRST_COLUMNS, *self.columns, *metrics, *LAST_COLUMNS],
            "columnWidths": dict.fromkeys(self.columns, NARROW),
            "runsExpanded": {},
            "runsPinned": [],
            "runsHidden": [],
            "runsVisibilityMap": {},
            "runsHiddenMode": "SHOW_ALL",
            "viewMaximized": False,
            "runListHidden": False,
            "isAccordionReordered": bool(self.charts),
            "useGroupedValuesInCharts": True,
            "hideEmptyCharts": True,
            "groupBy": self.group.state() if self.group is not None else None,
            "groupsExpanded": {},
            "autoRefreshEnabled": True,
            "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
        }
        if self.charts:
            state["compareRunCharts"] = [
                {"uuid": f"{title} {number}", "metricSectionId": title, "deleted": False, "isGenerated": False} | chart
                for title, charts in self.charts.items()
                for number, chart in enumerate(charts)
            ]
            state["compareRunSections"] = [
                *(_section(title, min(len(charts), WIDEST)) for title, charts in self.charts.items()),
                *(_section(title, WIDEST, is_folded=True) for title in UI_SECTIONS),
            ]
        return state


def _section(title: str, columns: int, is_folded: bool = False) -> dict[str, object]:
    return {
        "uuid": title,
        "name": title,
        "display": not is_folded,
        "isReordered": True,
        "deleted": False,
        "isGenerated": is_folded,
        "columns": columns,
    }
