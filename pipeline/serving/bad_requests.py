"""In front of MLflow's scoring server: a bad request is answered by 4xx and one sentence.

Most bad requests never reach the model: MLflow's server parses them first, and for some it answers 500 (no content
type, deep nesting, a number of 5,000 digits, columns that are lists) or sends its stack trace along (a CSV that cannot
be read). There is no setting for this. So a served model, when a scoring server loads it, wraps the one function
through which every request of that server goes. Answers to good requests are not touched.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import BAD_REQUEST, ErrorCode

log = logging.getLogger(__name__)
SERVER, APP = "mlflow.pyfunc.scoring_server", "mlflow.pyfunc.scoring_server.app"
LONGEST = 1000  # characters of an answer: MLflow repeats the rows, and they may be megabytes
GENERIC = "The request could not be read: it is no table of rows in a format that MLflow documents."


def install() -> None:
    """Do nothing in a process that is no scoring server, or where it is done already."""
    server: Any = sys.modules.get(SERVER)
    if APP not in sys.modules or server is None or hasattr(server.invocations, "unguarded"):
        return
    unguarded = server.invocations

    def invocations(data: Any, content_type: str | None, model: Any, input_schema: Any) -> Any:
        try:
            csv = (content_type or "").strip().startswith("text/csv")
            # A CSV is read without the signature: MLflow cannot read one whose columns may be of any type.
            return unguarded(data, content_type or "none", model, None if csv else input_schema)
        except MlflowException as error:
            code = error.error_code if error.get_http_status_code() < 500 else ErrorCode.Name(BAD_REQUEST)
            raise MlflowException(shortened(error.message), ErrorCode.Value(code)) from None
        except Exception as error:  # RecursionError, and whatever else MLflow's parsing meets
            log.warning("a request was refused: %s", shortened(repr(error)))
            raise MlflowException(GENERIC, BAD_REQUEST) from None

    invocations.unguarded = unguarded  # type: ignore[attr-defined]
    server.invocations = invocations


def shortened(message: str) -> str:
    """What was wrong, without the rows that MLflow puts before it."""
    if message.startswith("Failed to predict data"):
        message = message.rpartition("Error: ")[2]
    return message if len(message) <= LONGEST else f"{message[:LONGEST]} ..."
