"""What a team shares: PostgreSQL from Debian's packages, and `mlflow server` with passwords in front of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from tests.support.servers import free_port

BIN = Path(sys.executable).parent
ADMIN = ("admin", "a-long-password-of-the-admin")
DATABASE_PASSWORD = "of-the-database"
STARTING = 300  # seconds; a busy machine takes minutes


@contextmanager
def postgres() -> Iterator[str]:
    """A database cluster of its own, on localhost; yields the URL of the server, without a database's name."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    assert found, "PostgreSQL is needed: apt-get install postgresql"
    programs, port = found[-1].parent, free_port()
    folder = Path(tempfile.mkdtemp(prefix="ldep-postgres-"))
    # PostgreSQL refuses to run as root.
    user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    (folder / "password").write_text(DATABASE_PASSWORD)
    if user:
        for path in (folder, folder / "password"):
            shutil.chown(path, "postgres")

    def run(program: str, *arguments: str) -> None:
        environment = {**os.environ, "PGPASSWORD": DATABASE_PASSWORD}
        subprocess.run(
            [*user, str(programs / program), *arguments], cwd=folder, env=environment, check=True, capture_output=True
        )

    data = str(folder / "data")
    try:
        run("initdb", "-D", data, "-U", "mlflow", "--auth=scram-sha-256", f"--pwfile={folder / 'password'}")
        options = f"-h 127.0.0.1 -p {port} -k {folder} -c fsync=off"
        run("pg_ctl", "-D", data, "-o", options, "-l", str(folder / "log"), "-t", str(STARTING), "-w", "start")
        try:
            for name in ("tracking", "users"):
                run("createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "mlflow", name)
            yield f"postgresql://mlflow:{DATABASE_PASSWORD}@127.0.0.1:{port}"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


@dataclass
class Server:
    """`mlflow server`, which can be stopped and started again on the same port and database."""

    folder: Path
    database: str
    port: int = field(default_factory=free_port)
    others: str = "EDIT"  # what a user may do with what others made
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        settings = self.folder / "auth.ini"
        settings.write_text(
            "[mlflow]\n"
            f"default_permission = {self.others}\n"
            f"database_uri = {self.database}/users\n"
            f"admin_username = {ADMIN[0]}\n"
            "authorization_function = mlflow.server.auth:authenticate_request_basic_auth\n"
        )
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("MLFLOW")},
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "MLFLOW_AUTH_CONFIG_PATH": str(settings),
            "MLFLOW_AUTH_ADMIN_PASSWORD": ADMIN[1],
            "MLFLOW_FLASK_SERVER_SECRET_KEY": "of-the-forms",
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # evaluations of language models; a process more to start
        }
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    str(BIN / "mlflow"),
                    "server",
                    "--backend-store-uri",
                    f"{self.database}/tracking",
                    "--artifacts-destination",
                    str(self.folder / "artifacts"),
                    "--app-name",
                    "basic-auth",
                    "--workers",
                    "1",
                    "--port",
                    str(self.port),
                ],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + STARTING
        while True:
            try:
                if requests.get(f"{self.url}/health", timeout=5).ok:
                    return
            except (requests.ConnectionError, requests.Timeout):
                pass  # not yet
            assert self.process.poll() is None, (self.folder / "server.log").read_text()
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.5)

    def stop(self) -> None:
        """At once, as a machine that is switched off."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def call(self, path: str, **values: Any) -> Any:
        """Ask as the admin."""
        answer = requests.post(f"{self.url}/api/2.0/mlflow/{path}", json=values, auth=ADMIN, timeout=60)
        assert answer.ok, answer.text
        return answer.json()

    def login(self, name: str, password: str) -> dict[str, str]:
        """The environment of somebody who uses it."""
        return {
            "MLFLOW_TRACKING_URI": self.url,
            "MLFLOW_TRACKING_USERNAME": name,
            "MLFLOW_TRACKING_PASSWORD": password,
        }


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    with postgres() as database:
        server = Server(folder, database)
        try:
            server.start()
            yield server
        finally:
            if server.process is not None and server.process.poll() is None:
                server.stop()
