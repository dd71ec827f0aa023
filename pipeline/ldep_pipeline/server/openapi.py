"""The OpenAPI description of a served model: its routes, and its columns with their types or categories."""

from __future__ import annotations

from typing import Any

from ldep.explain import NORMS
from ldep.model import LARGEST_COVERAGE
from ldep.table import Date, FittedColumn, Numeric, Text
from ldep_pipeline.server.request_format import CSV, JSON, PARQUET
from ldep_pipeline.server.settings import DEFAULT_SECONDS, Limits, Settings
from ldep_pipeline.serving import counterfactual_answers, prediction_sets
from ldep_pipeline.serving.served_model import OUTPUTS, ServedModel

VERSION = "3.1.0"
MOST_CATEGORIES = 200  # that are listed for one column
PROBES = ("/ping", "/health", "/ready")  # which need no token


def describe(model: ServedModel, example: dict[str, Any], version: str | None, settings: Settings) -> dict[str, Any]:
    """Return the document. `example` is a row of the model."""
    document: dict[str, Any] = {
        "openapi": VERSION,
        "info": {
            "title": f"A classifier: {', '.join(model.classes)}",
            "description": f"{type(model.model).__name__} behind MLflow's scoring protocol, served by `ldep serve`.",
            "version": version or "unknown",
        },
        "paths": {
            "/invocations": {"post": _invocations(example)},
            "/ping": _probe("Whether the server is alive; also at /health."),
            "/health": _probe("Whether the server is alive."),
            "/ready": _probe("Whether the server takes requests.", {"503": _error("It is being stopped.")}),
            "/version": _get("The version of ldep.", "text/plain"),
            "/metrics": _get("What the server has done, in Prometheus' text format.", "text/plain"),
            "/openapi.json": _get("This document.", JSON),
        },
        "components": {
            "schemas": {
                "Row": _row(model, example),
                "Params": _params(settings.limits),
                "Error": {
                    "type": "object",
                    "properties": {"error_code": {"type": "string"}, "message": {"type": "string"}},
                    "required": ["error_code", "message"],
                },
            }
        },
    }
    if settings.secured:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        for path in PROBES:
            document["paths"][path]["get"]["security"] = []
        for path in document["paths"].keys() - PROBES:
            for operation in document["paths"][path].values():
                operation["responses"]["401"] = _error(UNAUTHENTICATED)
    return document


def _invocations(example: dict[str, Any]) -> dict[str, Any]:
    rows = {"type": "array", "items": _reference("Row")}
    body = {
        "type": "object",
        "properties": {"dataframe_records": rows, "params": _reference("Params")},
        "required": ["dataframe_records"],
        "examples": [{"dataframe_records": [example], "params": {"output": "full"}}],
    }
    answers = {"type": "object", "properties": {"predictions": {"type": "array", "description": "One per row."}}}
    return {
        "summary": "Classify rows.",
        "description": "Also accepted: MLflow's other formats (dataframe_split, instances, inputs), CSV and Parquet.",
        "requestBody": {
            "required": True,
            "content": {
                JSON: {"schema": body},
                CSV: {"schema": {"type": "string"}},
                PARQUET: {"schema": {"type": "string", "format": "binary"}},
            },
        },
        "responses": {
            "200": {
                "description": "The class of each row or, by params.output, an object with more.",
                "headers": {
                    "Ldep-Taken-As-Missing": {
                        "description": "The number of rows by column whose value was taken as missing, as JSON.",
                        "schema": {"type": "string"},
                    },
                    "Ldep-Model-Version": {
                        "description": "The version of the model that answered.",
                        "schema": {"type": "string"},
                    },
                },
                "content": {JSON: {"schema": answers}},
            },
            **{status: _error(text) for status, text in ERRORS.items()},
        },
    }


ERRORS = {
    "400": "The request cannot be read, or a cell is not what its column needs.",
    "408": "The body did not arrive in time.",
    "413": "The body, its rows or the answer are too large.",
    "415": "The content type is neither JSON, CSV nor Parquet.",
    "500": "The server failed; its log says why.",
    "503": "Too many requests, or the server is being stopped. The header Retry-After has the seconds until the next "
    "attempt.",
}
UNAUTHENTICATED = "The header Authorization has no valid token. The header WWW-Authenticate says what is needed."


def _error(description: str) -> dict[str, Any]:
    return {"description": description, "content": {JSON: {"schema": _reference("Error")}}}


def _row(model: ServedModel, example: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {column.name: _column(column) for column in model.encoder.fitted_},
        "required": list(model.encoder.columns_),
        "description": "A raw row. Other columns are ignored.",
        "examples": [example],
    }


def _column(column: FittedColumn) -> dict[str, Any]:
    """The schema of a column. Cells of text that read as a number, or as a category, are accepted as well."""
    if isinstance(column, Numeric):
        if column.spelling is not None and column.spelling.percent:
            return {"type": ["string", "null"], "description": f"A percentage, such as {column.spelling.example()}."}
        return {"type": ["number", "null"] if column.spelling is None else ["number", "string", "null"]}
    if isinstance(column, Date):
        description = f"A date, written {column.form}. Any other text is taken as missing."
        return {"type": ["string", "null"], "description": description}
    if isinstance(column, Text):
        return {"type": ["string", "null"], "description": f"A text; {len(column.terms)} words of it count."}
    if len(column.categories) <= MOST_CATEGORIES:
        spellings = [spelling for spelling, _ in column.merged]
        return {"enum": [*column.categories, *spellings, None], "description": "Any other value is taken as missing."}
    description = f"One of {len(column.categories)} categories. Any other value is taken as missing."
    return {"type": ["string", "null"], "description": description}


def _params(limits: Limits) -> dict[str, Any]:
    strict = "Refuse the request if a value would be taken as missing. `ldep serve --strict` makes true the default."
    defaults = counterfactual_answers.DEFAULTS
    return {
        "type": "object",
        "properties": {
            "output": {"enum": list(OUTPUTS), "default": OUTPUTS[0], "description": "How much to answer."},
            "strict": {"type": "boolean", "description": strict},
            "coverage": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": LARGEST_COVERAGE,
                "default": prediction_sets.DEFAULTS["coverage"],
                "description": "set: the share of rows whose set contains their class.",
            },
            "classwise": {
                "type": "boolean",
                "default": prediction_sets.DEFAULTS["classwise"],
                "description": "set: whether the coverage holds for the rows of each class.",
            },
            **{name: _parameter(*one) for name, one in counterfactual_answers.PARAMETERS.items()},
            "norm": {"enum": list(NORMS), "default": defaults["norm"], "description": "counterfactual: the distance."},
            "seconds": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": limits.seconds,
                "default": min(DEFAULT_SECONDS, limits.seconds),
                "description": "counterfactual: the time limit of all rows.",
            },
        },
    }


def _parameter(default: Any, meaning: str) -> dict[str, Any]:
    """The schema of a parameter of counterfactuals."""
    names = {bool: "boolean", int: "integer", float: "number", str: "string"}
    described = {"default": default, "description": f"counterfactual: {meaning}"}
    if isinstance(default, list):
        return {"type": "array", "items": {"type": "string"}, **described}
    return {"type": names[type(default)], **described}


def _probe(summary: str, more: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"get": {"summary": summary, "responses": {"200": {"description": "OK"}, **(more or {})}}}


def _get(summary: str, kind: str) -> dict[str, Any]:
    return {"get": {"summary": summary, "responses": {"200": {"description": "OK", "content": {kind: {}}}}}}


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
