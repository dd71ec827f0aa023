"""From a request that has been read to the response: the model's answers, what is counted, and what is logged."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from ldep.table import CellError
from ldep_pipeline.server import metrics, request_format
from ldep_pipeline.server.refusals import BadRequest
from ldep_pipeline.server.request_format import Rows
from ldep_pipeline.server.settings import DEFAULT_SECONDS, Settings
from ldep_pipeline.serving import counterfactual_answers
from ldep_pipeline.serving.served_model import OUTPUTS, ServedModel

log = logging.getLogger(__name__)
TAKEN_AS_MISSING = "Ldep-Taken-As-Missing"  # response header: the number of rows by column
VERSION = "Ldep-Model-Version"  # response header
LONGEST_HEADER = 2000  # characters; servers and proxies refuse headers of more than some thousand
LARGEST_ANSWER = 64 * 2**20  # bytes: explanations of a small row may take kilobytes
PART = 1000  # rows that are answered at a time, so that few of them are a table in memory
LOGGED = ("class", "decision", "probability")  # of an answer


@dataclass(frozen=True)
class Asked:
    """A request that has been read: its rows and its parameters, defaults included."""

    rows: Rows
    params: dict[str, Any]

    @property
    def output(self) -> str:
        return str(self.params.get("output", OUTPUTS[0]))

    @property
    def is_search(self) -> bool:
        return self.output == counterfactual_answers.OUTPUT


class Answers:
    """The responses of one version of the model."""

    def __init__(self, model: ServedModel, version: str, settings: Settings) -> None:
        self.model, self.version, self.settings = model, version, settings
        log_id = settings.request_log and settings.request_log.id
        self.columns: list[str] = list(dict.fromkeys([*model.encoder.columns_, *([log_id] if log_id else [])]))
        self.reported: set[str] = set()  # columns whose unknown values the server's log has mentioned

    def read(self, body: bytes, kind: str) -> Asked:
        """The request in a body of JSON or CSV."""
        return self.asked(*request_format.read(body, kind, self.columns))

    def asked(self, rows: Rows, params: dict[str, Any]) -> Asked:
        """The request for these rows; BadRequest if it is more than the limits allow."""
        limits = self.settings.limits
        if limits.rows is not None and rows.count > limits.rows:
            message = f"The request has {rows.count} rows; this server takes at most {limits.rows}. Send them in parts."
            raise BadRequest(message, 413)
        asked = Asked(rows, {"strict": self.settings.strict, **params})
        if not asked.is_search:
            return asked
        params = {"seconds": min(DEFAULT_SECONDS, limits.seconds), **asked.params}
        try:
            counterfactual_answers.check(rows.count, params)
        except ValueError as error:
            raise BadRequest(str(error)) from None
        if params["seconds"] > limits.seconds:
            raise BadRequest(f"params.seconds must be at most {limits.seconds:g} on this server.")
        return Asked(rows, params)

    def to(self, asked: Asked) -> Response:
        """Answer some rows after the others: tables and answers of all of them would be many times the body."""
        content, unknown, classes = bytearray(), Counter[str](), Counter[str]()
        logged: list[dict[str, Any]] = []
        log_answers = self.settings.request_log is not None and self.settings.request_log.answers
        # The log has probabilities too, where the client wants the class alone.
        params = {**asked.params, "output": "scores"} if log_answers and asked.output == "label" else asked.params
        for first, part in asked.rows.parts(PART):
            try:
                predictions, report = self.model.answer(part, params)
            except CellError as error:
                raise BadRequest(str(CellError(first + error.row, error.column, error.reason))) from None
            except ValueError as error:
                raise BadRequest(str(error)) from None
            if log_answers:
                logged += [_logged(prediction) for prediction in predictions]
            if params is not asked.params:
                predictions = [prediction["class"] for prediction in predictions]
            content += b", " * bool(content and predictions) + json.dumps(predictions)[1:-1].encode()
            if len(content) > LARGEST_ANSWER:
                raise BadRequest(f"The answer is larger than {LARGEST_ANSWER} bytes; send the rows in parts.", 413)
            unknown.update({name: len(rows) for name, rows in report.items()})
            classes.update(map(_class, predictions))
        return self._response(asked, bytes(content), classes, unknown, logged)

    def after_search(self, asked: Asked, found: dict[str, Any]) -> Response:
        """The response to a request for counterfactuals, from what the process that searches has returned."""
        if "error" in found:
            raise BadRequest(found["error"])
        predictions = found["predictions"]
        content = json.dumps(predictions)[1:-1].encode()
        logged = [_logged(prediction) for prediction in predictions]
        return self._response(asked, content, Counter(map(_class, predictions)), found["unknown"], logged)

    def _response(
        self,
        asked: Asked,
        predictions: bytes,
        classes: dict[str, int],
        unknown: dict[str, int],
        logged: Sequence[dict[str, Any]],
    ) -> Response:
        response = Response(b'{"predictions": [' + predictions + b"]}", media_type="application/json")
        if unknown:
            response.headers[TAKEN_AS_MISSING] = missing_header(unknown)
            self._report(unknown)
        metrics.count_answers(classes, unknown, self.version)
        self._record(asked.rows, logged)
        return response

    def _record(self, rows: Rows, logged: Sequence[dict[str, Any]]) -> None:
        """Append the rows to the log of requests. A full disk must not keep the server from answering."""
        request_log = self.settings.request_log
        if request_log is None:
            return
        try:
            for first, part in rows.parts(PART):
                columns, answers = self.model.encoder.columns_, logged[first : first + PART]
                request_log.append(part, columns, self.version, answers)
        except OSError as error:
            log.error("%s: rows of a request could not be logged: %s.", request_log.path, error.strerror)

    def _report(self, unknown: dict[str, int]) -> None:
        """Log each column once per process: a client may send unknown values in every request."""
        new = sorted(set(unknown) - self.reported)
        if new:
            self.reported.update(new)
            log.warning("A request has unknown values, taken as missing, in: %s.", ", ".join(new))


def _class(prediction: str | dict[str, Any]) -> str:
    return prediction if isinstance(prediction, str) else prediction["class"]


def _logged(prediction: dict[str, Any]) -> dict[str, Any]:
    return {name: prediction[name] for name in LOGGED if name in prediction}


def missing_header(unknown: dict[str, int]) -> str:
    """Return the number of rows by column, as JSON in ASCII, short enough for an HTTP header."""
    counts: dict[str, int] = {}
    for name, rows in unknown.items():
        longer = {**counts, name: rows}
        if len(json.dumps(longer)) > LONGEST_HEADER:
            break
        counts = longer
    return json.dumps(counts)
