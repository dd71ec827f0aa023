"""`mlflow models serve` on the champion of a set, and a curl line to try it with."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

from pipeline.config import paths
from pipeline.encoding.encoder import RawEncoder
from pipeline.registry import download, versions
from pipeline.serving import served_model
from pipeline.tracking import connection


def run(name: str, alias: str = versions.CHAMPION, port: int = 5001, root: Path = Path()) -> None:
    """Print the line, and become the server."""
    uri = f"models:/{versions.name_of(name)}@{alias}"
    model = download.load(uri, root)  # what cannot be loaded is said here, not by a server that does not start
    print(f"{uri} on http://127.0.0.1:{port}/invocations; when it says 'startup complete':\n")
    print(curl(model.encoder, port), flush=True)
    print()
    os.execve(sys.executable, [sys.executable, "-m", "mlflow", *arguments(uri, port)], environment(root))


def environment(root: Path = Path()) -> dict[str, str]:
    """That of the server."""
    return {
        **os.environ,
        "MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false",  # there is none in our models
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        "MLFLOW_TRACKING_URI": connection.store_uri(root),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        # Bytecode beside the model's code is not sealed, and so not read.
        "PYTHONPYCACHEPREFIX": str((root / paths.STATE / "pycache").resolve()),
    }


def arguments(uri: str, port: int) -> list[str]:
    return ["models", "serve", "-m", uri, "--env-manager", "local", "--host", "127.0.0.1", "--port", str(port)]


def curl(encoder: RawEncoder, port: int) -> str:
    """A request with one row that the encoder knows: its usual values."""
    body = {"dataframe_records": [served_model.example(encoder)], "params": {"output": "full"}}
    data = shlex.quote(json.dumps(body, ensure_ascii=False))
    return f"curl http://127.0.0.1:{port}/invocations -H 'Content-Type: application/json' -d {data}"
