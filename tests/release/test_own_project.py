"""A project from the wheels alone: from an empty folder to an answer over HTTP, and to a colleague by two remotes.

The commands are those of README.md. `make wheel-test` runs them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(3600)]
ROOT = Path(__file__).parents[2]
NOT_INHERITED = ("PYTHONPATH", "MLFLOW_TRACKING_URI", "VIRTUAL_ENV")
PATIENCE = 300  # seconds until a server answers
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def bin_(tmp_path_factory) -> Path:
    """The commands of a new environment with the wheels, and with an S3-compatible server."""
    folder = tmp_path_factory.mktemp("environment")
    python, wheels = folder / "venv/bin/python", sorted((ROOT / "dist").glob("*.whl"))
    packages = [*map(str, wheels), "dvc-s3", "moto[server]"]
    if uv := shutil.which("uv"):
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder / "venv"], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *packages], check=True)
    else:
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return python.parent


def variables(bin_: Path, extra: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    return {**kept, "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}", "MLFLOW_DISABLE_TELEMETRY": "true", **extra}


def run(bin_: Path, folder: Path, *command: str, **extra: str) -> str:
    done = subprocess.run(command, cwd=folder, env=variables(bin_, extra), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def git(bin_: Path, folder: Path, *arguments: str) -> str:
    return run(bin_, folder, "git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@pytest.fixture(scope="module")
def project(bin_, tmp_path_factory) -> Path:
    """After `ldep init`, `ldep new` and `dvc repro` in an empty folder."""
    folder = tmp_path_factory.mktemp("empty")
    generator = np.random.default_rng(0)
    table = pd.DataFrame({"age": generator.integers(18, 80, 200), "spend": generator.gamma(2.0, 20.0, 200).round(2)})
    table["plan"] = generator.choice(["basic", "plus", "pro"], 200)
    table["churned"] = np.where(table["age"] + table["spend"] + generator.normal(0, 8, 200) > 90, "yes", "no")
    table.to_csv(folder / "customers.csv", index=False)
    run(bin_, folder, "ldep", "init", "churn")
    project = folder / "churn"
    run(bin_, project, "ldep", "new", "customers", "../customers.csv", "--target", "churned", "--suite", "quick")
    run(bin_, project, "dvc", "repro")
    return project


def test_the_model_answers_the_printed_curl_command(bin_, project):
    port = free_port()
    command = ["ldep", "serve", "customers", "--port", str(port)]
    server = subprocess.Popen(
        command, cwd=project, env=variables(bin_, {}), stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        printed = ""
        for line in server.stdout:
            printed += line
            if line.startswith("curl "):
                break
        wait_for(f"http://127.0.0.1:{port}/ready")
        answer = json.loads(run(bin_, project, *shlex.split(printed.splitlines()[-1])))
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()
    assert answer["predictions"][0]["class"] in ("yes", "no")


def wait_for(address: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urlopen(address, timeout=5):
                return
        except OSError:
            assert time.monotonic() < deadline, address
            time.sleep(0.5)


@pytest.fixture(scope="module")
def store(bin_, tmp_path_factory) -> Iterator[str]:
    """The address of an S3-compatible server on this machine, with the bucket `shared`."""
    port, folder = free_port(), tmp_path_factory.mktemp("store")
    server = subprocess.Popen([bin_ / "moto_server", "--port", str(port)], cwd=folder, env=variables(bin_, KEYS))
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{address}/moto-api/")
        made = f"import boto3; boto3.client('s3', endpoint_url='{address}').create_bucket(Bucket='shared')"
        run(bin_, folder, "python", "-c", made, **KEYS)
        yield address
    finally:
        server.terminate()
        server.wait()


@pytest.mark.parametrize("kind", ["a folder", "an S3-compatible server"])
def test_a_colleague_has_the_same_report_and_retrains_nothing(bin_, project, tmp_path, request, kind):
    name = "folder" if kind == "a folder" else "s3"
    address = str(tmp_path / "remote") if name == "folder" else "s3://shared/churn"
    run(bin_, project, "dvc", "remote", "add", "--force", "--default", name, address)
    if name == "s3":
        run(bin_, project, "dvc", "remote", "modify", name, "endpointurl", request.getfixturevalue("store"))
    run(bin_, project, "dvc", "push", **KEYS)
    git(bin_, project, "add", "-A")
    assert "data/own/customers.csv" not in git(bin_, project, "ls-files").split()
    git(bin_, project, "commit", "-qm", f"Results, shared by {kind}")
    git(bin_, tmp_path, "clone", "-q", str(project), "clone")
    clone = tmp_path / "clone"
    assert not (clone / "data/own/customers.csv").exists()
    run(bin_, clone, "dvc", "pull", **KEYS)
    assert re.findall(r"Running stage '(.+)'", run(bin_, clone, "dvc", "repro")) == ["check"]
    for folder in ("report", "results", "registry", "plots", "metrics", "data"):
        files = [path for path in (project / folder).rglob("*") if path.is_file() and path.name != ".gitignore"]
        assert files
        for path in files:
            assert (clone / path.relative_to(project)).read_bytes() == path.read_bytes(), path
    assert "runs no stage again" in run(bin_, clone, "ldep", "upgrade")
