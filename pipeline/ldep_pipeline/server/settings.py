"""How a server runs: what `ldep serve` decides, and hands to its worker processes in an environment variable."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ldep_pipeline.server.request_log import RequestLog
from ldep_pipeline.serving import counterfactual_answers

VARIABLE = "LDEP_SERVER"
METRICS = "PROMETHEUS_MULTIPROC_DIR"  # prometheus_client reads it when it is imported
DEFAULT_SECONDS = float(str(counterfactual_answers.DEFAULTS["seconds"]))  # of a request for counterfactuals
NUMBERS = "metrics"  # the folder of the numbers, beside the model


@dataclass(frozen=True)
class Limits:
    """What a request may cost. `rows` is None where the size of the body is limit enough."""

    body: int = 32 * 2**20
    """Bytes; a Parquet body may hold as much when it is unpacked."""
    rows: int | None = None
    seconds: float = counterfactual_answers.MOST_SECONDS
    """That a request for counterfactuals may ask for."""
    concurrent: int = 512
    """Requests that a worker has at a time, those that wait included."""


@dataclass(frozen=True)
class Settings:
    """The folder that names the version to serve (see `published`), and how requests are answered.

    With `strict`, requests with values that the model does not know are refused unless they say otherwise. `tokens` is
    the file of tokens; `secured` is false if there are none at all.
    """

    folder: Path
    strict: bool = False
    follow: bool = False
    request_log: RequestLog | None = None
    secured: bool = False
    tokens: Path | None = None
    limits: Limits = field(default_factory=Limits)
    grace: float = 30.0
    """Seconds for requests that are being answered when the server is stopped."""

    @contextlib.contextmanager
    def handed_over(self) -> Iterator[None]:
        """An environment from which worker processes read the settings."""
        numbers = self.folder / NUMBERS
        numbers.mkdir(exist_ok=True)
        os.environ |= {METRICS: str(numbers), VARIABLE: json.dumps(asdict(self), default=str)}
        try:
            yield
        finally:
            del os.environ[METRICS], os.environ[VARIABLE]


def from_environment() -> Settings:
    values = json.loads(os.environ[VARIABLE])
    log, tokens = values["request_log"], values["tokens"]
    return Settings(
        **{
            **values,
            "folder": Path(values["folder"]),
            "request_log": log and RequestLog(**{**log, "path": Path(log["path"])}),
            "tokens": tokens and Path(tokens),
            "limits": Limits(**values["limits"]),
        }
    )
