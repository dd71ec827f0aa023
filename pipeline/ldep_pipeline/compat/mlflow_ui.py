"""What we know of MLflow's web UI beyond its documentation: saved views, the kind of an experiment, and links.

Reason: an experiment with a hundred runs opens as one long list. A saved view groups the runs by data set or by model,
and MLflow has no API to make one: its UI keeps a view as JSON in a tag of the experiment, and the kind of the
experiment, which hides the pages for language models, in another. We write these tags; we patch nothing. A UI that no
longer knows them shows the plain list.
Version: MLflow 3.17, which calls the form of a saved view internal.
Contract: tests/pipeline/compat/test_mlflow_ui.py looks for these names in the UI that is installed with MLflow, and
`make ui-test` opens the views in a browser.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

VIEW = "mlflow.sharedViewState."  # a tag; the name of the view follows
KIND, KIND_OF_TRAINING = "mlflow.experimentKind", "custom_model_development"
# Columns by their names inside the UI: ticks, name, time of creation, duration. Without an order it sorts them by name.
FIRST_COLUMNS, LAST_COLUMNS = ("1", "attributes.`Run Name`", "runDateAndNestInfo"), ("duration",)
NARROW = 75  # pixels
SHARE_KEY, WORKFLOW, WORKFLOW_OF_TRAINING = "viewStateShareKey", "workflowType", "machine_learning"


def link(experiment: str, view: str) -> str:
    """The address of a saved view, within the UI."""
    return f"#/experiments/{experiment}/runs?{SHARE_KEY}={view}&{WORKFLOW}={WORKFLOW_OF_TRAINING}"


@dataclass(frozen=True)
class GroupedView:
    """A view of the runs, grouped by the value of a tag and sorted by a metric; `flag` is a tag shown beside the names.

    `summary` is what the row of a group shows of its runs: "average", "min" or "max".
    """

    title: str
    tag: str
    flag: str
    metrics: Sequence[str]
    ascending: bool
    summary: str

    def text(self) -> str:
        """The value of the view's tag."""
        saved = json.dumps(self.state())
        return json.dumps({"name": self.title, "createdAt": int(time.time() * 1000), "state": saved})

    def state(self) -> dict[str, object]:
        """Every field that the UI saves, whether or not it matters here: the UI does not fill in missing ones."""
        flag, metrics = f"tags.`{self.flag}`", [f"metrics.`{name}`" for name in self.metrics]
        return {
            "searchFilter": "",
            "orderByKey": metrics[0],
            "orderByAsc": self.ascending,
            "startTime": "ALL",
            "lifecycleFilter": "Active",
            "modelVersionFilter": "All Runs",
            "datasetsFilter": [],
            "selectedColumns": [flag, *metrics],
            "columnOrder": [*FIRST_COLUMNS, flag, *metrics, *LAST_COLUMNS],
            "columnWidths": {flag: NARROW},
            "runsExpanded": {},
            "runsPinned": [],
            "runsHidden": [],
            "runsVisibilityMap": {},
            "runsHiddenMode": "SHOW_ALL",
            "viewMaximized": False,
            "runListHidden": False,
            "isAccordionReordered": False,
            "useGroupedValuesInCharts": True,
            "hideEmptyCharts": True,
            "groupBy": {"aggregateFunction": self.summary, "groupByKeys": [{"mode": "tag", "groupByData": self.tag}]},
            "groupsExpanded": {},
            "autoRefreshEnabled": True,
            "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
        }
