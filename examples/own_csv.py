"""Go from a CSV file to an endpoint: write the file, run every stage, start the server and query it.

The file has missing numbers and a column of strings, and the registered model accepts such raw rows. The figure shows
the server's responses. All files go to a temporary folder.

    python examples/own_csv.py [PICTURE]
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import requests

from ldep_pipeline.commands.main import main as ldep

PICTURE = Path(__file__).parents[1] / "docs/images/own_csv.png"
PARAMS = """
own_data:
  harvest: {path: data/own/harvest.csv, target: quality}
datasets: [harvest]
models: [ldep, linear_svc]
classifiers:
  ldep: {class: ldep.LDEPClassifier, params: {r1: 5, r2: 5, alpha: 0.1}}
  linear_svc: {class: sklearn.svm.SVC, params: {kernel: linear}}
execution: {n_jobs: 1}
tracking: {models: false}
"""


def harvest(count: int = 400) -> pd.DataFrame:
    """Simulate fruit: medium weight and medium sugar are good, and late fruit may be heavier."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "weight": rng.normal(150, 30, count).round(1),
            "sugar": rng.normal(12, 3, count).round(2),
            "season": rng.choice(["early", "late"], count),
        }
    )
    middle = 150 + 25 * (frame["season"] == "late")
    off = np.hypot((frame["weight"] - middle) / 30, (frame["sugar"] - 12) / 3) + rng.normal(0, 0.1, count)
    frame["quality"] = np.where(off < 1.1, "good", "poor")
    frame.loc[::25, "sugar"] = np.nan
    return frame


def main(picture: Path = PICTURE) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "data/own").mkdir(parents=True)
        harvest().to_csv(project / "data/own/harvest.csv", index=False)
        (project / "params.yaml").write_text(PARAMS)
        with contextlib.chdir(project):
            for stage in ("fetch", "impute", "split", "train", "register"):
                if ldep([stage]) != 0:  # same as the command `ldep fetch`, and so on
                    raise SystemExit(1)
        with serving(project, "harvest") as address:
            draw(address, picture)


@contextlib.contextmanager
def serving(project: Path, name: str) -> Iterator[str]:
    """Run `ldep serve` on a free port until the block ends; yield the address of the endpoint."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "ldep_pipeline.commands.main", "serve", name, "--port", str(port)]
    server = subprocess.Popen(command, cwd=project, start_new_session=True)
    try:
        while True:
            with contextlib.suppress(requests.ConnectionError):
                if requests.get(f"http://127.0.0.1:{port}/ping", timeout=5).ok:
                    break
            if server.poll() is not None:
                raise SystemExit(f"the server exited with code {server.returncode}")
            time.sleep(0.3)
        yield f"http://127.0.0.1:{port}/invocations"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def predict(address: str, frame: pd.DataFrame, output: str) -> list:
    body = {"dataframe_split": frame.to_dict(orient="split", index=False), "params": {"output": output}}
    response = requests.post(address, json=body, timeout=60)
    response.raise_for_status()
    return response.json()["predictions"]


def draw(address: str, picture: Path) -> None:
    unusual = pd.DataFrame([{"season": "unknown", "weight": 150, "sugar": None}]).astype(object)
    print("a row with a missing number and an unknown category:", predict(address, unusual, "full")[0])

    axes = [np.linspace(60, 250, 60), np.linspace(2, 22, 60)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained", sharey=True)
    for season, panel in zip(("early", "late"), panels):
        frame = pd.DataFrame(grid, columns=["weight", "sugar"]).assign(season=season)
        good = [response["probability"]["good"] for response in predict(address, frame, "scores")]
        shown = panel.contourf(*axes, np.reshape(good, (60, 60)), levels=np.linspace(0, 1, 11), cmap="RdBu", alpha=0.7)
        own = harvest().query("season == @season")
        for quality, marker in (("good", "o"), ("poor", "x")):
            points = own.loc[own["quality"] == quality, ["weight", "sugar"]].to_numpy()
            panel.scatter(*points.T, marker=marker, s=12, color="black", linewidth=0.8, label=quality)
        panel.set(title=f"season: {season}", xlabel="weight", xlim=axes[0][[0, -1]], ylim=axes[1][[0, -1]])
    panels[0].set_ylabel("sugar")
    panels[1].legend(loc="upper right")
    figure.colorbar(shown, label="probability of good, from the server")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
