"""What requests cost the real server: memory and time by size and shape, and how long a class is waited for.

`pytest -s` prints the measurements; docs/serving.md has a table of them.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest
import requests

from tests.support import malformed, registered, shapes
from tests.support.servers import serving

pytestmark = [pytest.mark.fault, pytest.mark.slow, pytest.mark.timeout(3600)]
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
MEMORY = 40  # times the size of a body
SMALL = 4_000_000  # bytes that count as nothing: the interpreter's own memory grows in steps
SEARCHES, LABELS = 50, 300
JSON = {"Content-Type": malformed.JSON}


@pytest.fixture(scope="module")
def registered_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return registered.make(tmp_path_factory.mktemp("registered"))


@pytest.fixture(scope="module")
def single(registered_project: Path) -> Iterator[tuple[str, int]]:
    """A server of one process."""
    with serving(registered_project, registered.NAME, "--workers", "1") as (address, process):
        yield f"{address}/invocations", process


@pytest.fixture(scope="module")
def default(registered_project: Path) -> Iterator[str]:
    with serving(registered_project, registered.NAME) as (address, _):
        yield f"{address}/invocations"


def resident(process: int, field: str) -> int:
    """VmRSS, the memory of a process, or VmHWM, the most that it had since `forget_most`; in bytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def forget_most(process: int) -> None:
    Path(f"/proc/{process}/clear_refs").write_text("5")


def cpu_seconds(process: int) -> float:
    return sum(psutil.Process(process).cpu_times()[:2])


def cost(server: tuple[str, int], shape: str, size: int) -> tuple[int, int, float, int]:
    """The size of a body, the memory that the request takes at most, the CPU seconds, and the status of the answer."""
    url, process = server
    body, kind = shapes.body(shape, size)
    forget_most(process)
    before, began = resident(process, "VmRSS"), cpu_seconds(process)
    answer = requests.post(url, data=body, headers={"Content-Type": kind}, timeout=600)
    seconds = cpu_seconds(process) - began
    return len(body), resident(process, "VmHWM") - before, seconds, answer.status_code


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_time_and_memory_are_proportional_to_the_size_of_a_body(single, shape):
    requests.post(single[0], data=shapes.params(), headers=JSON, timeout=60)
    costs = [cost(single, shape, size) for size in SIZES]
    shown = " | ".join(f"{size / 1e6:.2f} MB: {used / size:.0f}x, {s:.2f} s, {code}" for size, used, s, code in costs)
    print(f"\n{shape}: {shown}")
    for size, used, _, status in costs:
        assert status in (200, 400, 413), shown
        assert used < MEMORY * size + SMALL, shown
    (large, _, slow, _), (medium, _, quick, _) = costs[-1], costs[-2]
    assert slow < 0.1 + 3 * quick * large / medium, shown


def label_times(url: str, count: int) -> np.ndarray:
    """The seconds of requests for one class, one after the other on one connection."""
    body, times = shapes.params(), []
    with requests.Session() as session:
        for _ in range(count):
            began = time.perf_counter()
            answer = session.post(url, data=body, headers=JSON, timeout=600)
            times.append(time.perf_counter() - began)
            assert answer.status_code == 200
            assert json.loads(answer.content)["predictions"]
    return np.array(times)


def test_a_class_is_not_waited_for_while_many_search(default):
    """Clients that send a search again as soon as they are answered, or when they are told to."""
    label_times(default, 50)
    idle = np.quantile(label_times(default, LABELS), 0.99)
    ended, statuses = threading.Event(), []

    def search() -> None:
        while not ended.is_set():
            body = shapes.params(output="counterfactual", seconds=60)
            answer = requests.post(default, data=body, headers=JSON, timeout=600)
            statuses.append(answer.status_code)
            ended.wait(int(answer.headers.get("Retry-After", 0)))

    with ThreadPoolExecutor(SEARCHES) as pool:
        for _ in range(SEARCHES):
            pool.submit(search)
        time.sleep(10)  # the processes for searches have started
        busy = np.quantile(label_times(default, LABELS), 0.99)
        ended.set()
    print(f"\np99 of a class: idle {1000 * idle:.1f} ms, beside {SEARCHES} clients that search {1000 * busy:.1f} ms")
    print(f"answers to searches: {statuses.count(200)} of 200, {statuses.count(503)} of 503")
    assert set(statuses) <= {200, 503}
    assert 200 in statuses
    assert busy <= 10 * idle


def test_a_request_on_an_open_connection_takes_as_long_with_two_workers_as_with_one(default, single):
    """It took 44 ms with two: an answer was sent in two packets, and the second one was held back."""
    medians = {}
    for name, url in (("--workers 1", single[0]), ("default", default)):
        label_times(url, 50)
        medians[name] = float(np.median(label_times(url, LABELS)))
    print(f"\nmedian of a keep-alive request: { {name: f'{1000 * value:.2f} ms' for name, value in medians.items()} }")
    assert medians["default"] < 2 * medians["--workers 1"] + 0.002
