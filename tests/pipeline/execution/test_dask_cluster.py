"""Training on a real Dask cluster: processes that run elsewhere, with the installed package alone, and that die."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import dask
import distributed
import mlflow
import pandas as pd
import psutil
import pytest
from mlflow.entities import ViewType

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.execution import dask_cluster, results
from ldep_pipeline.stages import train
from tests.support import killing, tiny
from tests.support.dask_cluster import StartedCluster, running_cluster

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedCluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster"), workers=2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Empty; making its tables takes five seconds."""
    path = tmp_path_factory.mktemp("database") / "mlflow.db"
    mlflow.MlflowClient(tracking_uri=f"sqlite:///{path}")
    return path


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("LDEP_N_JOBS", raising=False)
    return make_project(tmp_path / "one", monkeypatch)


def make_project(path: Path, monkeypatch: pytest.MonkeyPatch, database: Path | None = None) -> Path:
    path.mkdir()
    tiny.prepare(path)
    if database is not None:
        shutil.copy(database, path / "mlflow.db")
    monkeypatch.chdir(path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)  # MLflow sets it when it is told a store
    return path


def on(address: str | None, **sections):
    return tiny.checked(execution={"backend": "dask", "scheduler": address, "n_jobs": 1}, **sections)


def tracked(root: Path) -> list[tuple]:
    """Names, tags and numbers of the runs, but for times."""
    mlflow.set_tracking_uri(f"sqlite:///{root}/mlflow.db")
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("suite")
    runs = client.search_runs([experiment.experiment_id], run_view_type=ViewType.ACTIVE_ONLY)
    return sorted(
        (
            run.info.run_name,
            run.info.status,
            run.data.tags.get("ldep.key", ""),
            sorted(run.data.params.items()),
            sorted((name, value) for name, value in run.data.metrics.items() if "seconds" not in name),
        )
        for run in runs
    )


def test_tables_and_tracked_runs_are_the_same_as_locally(started, database, tmp_path, monkeypatch, caplog):
    tracking = {"experiment": "suite", "models": False}
    root = make_project(tmp_path / "local", monkeypatch, database)
    train.run("tiny", tiny.checked(tracking=tracking))
    other = make_project(tmp_path / "other", monkeypatch, database)
    train.run("tiny", on(started.address, tracking=tracking))
    pd.testing.assert_frame_equal(killing.table(other), killing.table(root))
    assert tracked(other) == tracked(root)
    assert "whoever can reach it can run code on its workers" in caplog.text
    assert len(tracked(root)) == 3 + 3 * 3 + 3  # models, their folds, and the trials of one study
    with distributed.Client(started.address, set_as_default=False) as client:
        where = client.run(lambda: __import__("ldep_pipeline").__file__)
        assert len(where) == 2
        assert all(file.startswith(str(started.site)) for file in where.values())
    assert {path.name for path in started.folder.iterdir() if path.suffix != ".log"} == {"scheduler.json"}


def test_workers_killed_three_times_lose_nothing_and_do_nothing_twice(started, database, root, tmp_path, monkeypatch):
    slow = {"class": "sklearn.neural_network.MLPClassifier", "params": {"max_iter": 500, "n_iter_no_change": 500}}
    sections = {
        "models": ["ldep", "first", "second"],
        "classifiers": {"ldep": tiny.values()["classifiers"]["ldep"], "first": slow, "second": slow},
    }
    train.run("tiny", tiny.checked(**sections))
    other = make_project(tmp_path / "other", monkeypatch, database)
    hits: list[int] = []

    def kill_at(counts: list[int]) -> None:
        for count in counts:
            while len(stored(other)) < count:
                time.sleep(0.05)
            while not (alive := [worker for worker in started.workers() if worker.pid not in hits]):
                time.sleep(0.05)
            alive[0].kill()
            hits.append(alive[0].pid)

    killer = threading.Thread(target=kill_at, args=([1, 3, 6],), daemon=True)
    killer.start()
    train.run("tiny", on(started.address, **{**sections, "tracking": {"experiment": "suite", "models": False}}))
    killer.join(120)
    assert len(set(hits)) == 3
    pd.testing.assert_frame_equal(killing.table(other), killing.table(root))
    assert {path.name for path in stored(other)} == {path.name for path in stored(root)}
    assert killing.check_runs(other, "suite") == 3


def stored(root: Path) -> list[Path]:
    return list((root / ".ldep/fits").rglob("*.json"))


def test_a_cluster_is_started_and_a_fit_that_kills_its_workers_is_reported(root):
    classifiers = {"svc": {"class": "sklearn.svm.SVC"}, "killed": {"class": "tests.support.tiny.Killed"}}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        pytest.raises(UserError, match=r"every worker that ran a certain fit was killed .*out of memory"),
    ):
        train.run("tiny", on(None, models=["svc", "killed"], classifiers=classifiers))
    assert stored(root)
    train.run("tiny", on(None, models=["svc"], classifiers=classifiers))
    assert (results.read("tiny")["status"] == "ok").all()


def test_the_cluster_that_is_started_listens_on_this_machine_and_only_to_its_client(root):
    this = psutil.Process()
    before = this.children(recursive=True)
    with dask_cluster.connect(None, 1, load_training_data("tiny")) as cluster:
        assert cluster.address.startswith("tls://127.0.0.1:")
        assert cluster.executor.submit(max, 1, 2).result() == 2
        workers = [process for process in this.children(recursive=True) if process not in before]
        assert workers
        listening = [
            connection.laddr.ip
            for process in (this, *workers)
            for connection in process.net_connections()
            if connection.status == psutil.CONN_LISTEN
        ]
        assert set(listening) == {"127.0.0.1"}
        for address, security in (
            (cluster.address, distributed.Security.temporary()),
            (cluster.address.replace("tls", "tcp"), None),
        ):
            with pytest.raises(OSError, match=r"Timed out|certificate|refused|closed"):
                distributed.Client(address, security=security, timeout=2, set_as_default=False)


def test_a_scheduler_with_certificates_takes_those_of_dasks_configuration(root, monkeypatch, caplog):
    security = distributed.Security.temporary()
    certificates = {
        "distributed.comm.tls.ca-file": security.tls_ca_file,
        "distributed.comm.tls.client.cert": security.tls_client_cert,
        "distributed.comm.tls.client.key": security.tls_client_key,
    }
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, security=security, protocol="tls"
    ) as cluster:
        address = cluster.scheduler_address
        monkeypatch.setattr(dask_cluster, "CONNECT", 2)
        with pytest.raises(UserError, match=r"cannot be reached: .*distributed\.comm\.tls in the config"):
            train.run("tiny", on(address, models=["svc"]))
        with dask.config.set(certificates):
            train.run("tiny", on(address, models=["svc"]))
    assert (results.read("tiny")["status"] == "ok").all()
    assert "is not encrypted" not in caplog.text


def test_a_worker_with_other_code_is_refused(started, root, monkeypatch):
    here = dask_cluster.worker_code()
    monkeypatch.setattr(dask_cluster, "worker_code", lambda: {**here, "numpy": "0.1"})
    with pytest.raises(UserError, match=r"the Dask worker tcp://.* differs from this process: numpy is .*, not 0\.1"):
        train.run("tiny", on(started.address))


def test_a_worker_with_threads_is_refused(root):
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, protocol="tcp"
        ) as threads,
        pytest.raises(UserError, match="has 2 threads; start it with --nthreads 1"),
    ):
        train.run("tiny", on(threads.scheduler_address))


def test_a_scheduler_that_is_absent_or_has_no_worker_is_reported_before_any_work(root, monkeypatch):
    monkeypatch.setattr(dask_cluster, "CONNECT", 1)
    with pytest.raises(UserError, match=r"the Dask scheduler tcp://127\.0\.0\.1:9 cannot be reached"):
        train.run("tiny", on("tcp://127.0.0.1:9"))
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None, protocol="tcp") as empty,
        pytest.raises(UserError, match="has no worker; start some: `dask worker tcp://"),
    ):
        train.run("tiny", on(empty.scheduler_address))
    assert not stored(root)


@pytest.mark.parametrize(
    ("execution", "message"),
    [
        ({"backend": "dusk"}, "'execution.backend': input should be 'local' or 'dask'; found 'dusk'"),
        ({"scheduler": "tcp://a:1"}, "'execution': scheduler needs backend: dask"),
        ({"backend": "dask", "scheduler": "a:1"}, "'execution.scheduler'"),
    ],
)
def test_a_wrong_setting_is_named(execution, message):
    with pytest.raises(UserError) as caught:
        tiny.checked(execution=execution)
    assert message in str(caught.value)


def test_a_lost_scheduler_is_reported_and_finished_work_is_kept(started, root):
    """The last of this module: it ends the cluster."""
    slow = {"class": "sklearn.neural_network.MLPClassifier", "params": {"max_iter": 500, "n_iter_no_change": 500}}
    classifiers = {f"mlp{number}": slow for number in range(4)}

    def end() -> None:
        while len(stored(root)) < 2:
            time.sleep(0.05)
        started.processes[0].kill()

    threading.Thread(target=end, daemon=True).start()
    with pytest.raises(UserError, match=r"the Dask scheduler tcp://.* was lost\. Finished work is kept"):
        train.run("tiny", on(started.address, models=list(classifiers), classifiers=classifiers))
    assert len(stored(root)) >= 2
