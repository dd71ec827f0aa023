"""A deployed server: 200 clients while the champion changes ten times, and requests without a valid token.

LDEP_LOAD_SECONDS sets the length of the load (120).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pandas as pd
import psutil
import requests
from scipy.stats import mannwhitneyu

from benchmarks.report import Report
from ldep_pipeline.commands import token
from tests.support import registered, two_versions
from tests.support.servers import serving
from tests.support.two_versions import TwoVersions

CLIENTS, SWITCHES = 200, 10
REFUSED, PAIRS = 2000, 2000
TOKENS = "tokens.txt"
OPTIONS = ("--follow", "--follow-seconds", "1", "--tokens", TOKENS)


def run() -> Report:
    seconds = float(os.environ.get("LDEP_LOAD_SECONDS", 120))
    report = Report("deployment", "A deployed server")
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        project = Path(scratch, "made")
        project.mkdir()
        versions = two_versions.make(registered.make(project), Path(scratch, "project"))
        stack.enter_context(two_versions.store(versions))
        secret = token.run("clients", versions.folder / TOKENS)
        expired = token.run("expired", versions.folder / TOKENS, (datetime.now(UTC) - timedelta(days=1)).date())
        address, process = stack.enter_context(serving(versions.folder, registered.NAME, *OPTIONS))
        load(report, versions, address, process, secret, seconds)
        refusals(report, versions, address, secret, expired)
    report.note(f"The load average of the machine was {os.getloadavg()[1]:.1f} in the last five minutes, on two cores.")
    return report


def memory(process: int) -> float:
    """MB of the server and its workers."""
    parent = psutil.Process(process)
    return sum(member.memory_info().rss for member in [parent, *parent.children(recursive=True)]) / 2**20


def load(report: Report, versions: TwoVersions, address: str, process: int, secret: str, seconds: float) -> None:
    """Every answer is compared with that of the version which its header names."""
    bodies = [json.dumps(versions.body(row)).encode() for row in range(len(versions.rows))]
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    took: list[float] = []
    outcomes: Counter[str] = Counter()
    answered: Counter[str] = Counter()

    async def ask(session: aiohttp.ClientSession, first: int, until: float) -> None:
        row = first
        while time.monotonic() < until:
            row = (row + 1) % len(bodies)
            began = time.perf_counter()
            try:
                async with session.post(f"{address}/invocations", data=bodies[row], headers=headers) as answer:
                    content, version = await answer.read(), answer.headers.get("Ldep-Model-Version", "")
                    status = answer.status
            except aiohttp.ClientError:
                outcomes["lost"] += 1
                continue
            took.append(time.perf_counter() - began)
            if status != 200:
                outcomes["lost"] += 1
            elif json.loads(content)["predictions"] != [versions.expected[version][row]]:
                outcomes["wrong"] += 1
            else:
                outcomes["right"] += 1
                answered[version] += 1

    async def during(length: float, switches: int) -> None:
        until = time.monotonic() + length
        timeout = aiohttp.ClientTimeout(total=120)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CLIENTS), timeout=timeout) as session:
            clients = [asyncio.create_task(ask(session, first, until)) for first in range(CLIENTS)]
            for number in range(switches):
                await asyncio.sleep(length / (switches + 1))
                await asyncio.to_thread(versions.switch, "21"[number % 2])
            await asyncio.gather(*clients)

    asyncio.run(during(seconds / 3, 2))  # memory then has the size of its work
    before = memory(process)
    for counts in (took, outcomes, answered):
        counts.clear()
    asyncio.run(during(seconds, SWITCHES))
    growth = memory(process) / before - 1
    low, middle, high = (1000 * np.percentile(took, q) for q in (50, 95, 99))
    row: dict[str, Any] = {"seconds": seconds, "requests": len(took), "per_second": len(took) / seconds}
    row |= {"p50_ms": low, "p95_ms": middle, "p99_ms": high, "memory_mb": before, "growth": growth}
    row |= {f"answered_by_{version}": count for version, count in sorted(answered.items())}
    report.table("load", pd.DataFrame([row]))
    report.claim(
        f"lost requests of {CLIENTS} clients, {SWITCHES} switches", outcomes["lost"], "0", not outcomes["lost"]
    )
    report.claim("wrong answers", outcomes["wrong"], "0", not outcomes["wrong"])
    report.claim("growth of the server's memory", growth, "at most 0.1", growth <= 0.1)
    report.claim("99th percentile of the time of a request, in ms", high, "stated", True)


def refusals(report: Report, versions: TwoVersions, address: str, secret: str, expired: str) -> None:
    url, body = f"{address}/invocations", json.dumps(versions.body(0))
    first, last = _other(secret[0]) + secret[1:], secret[:-1] + _other(secret[-1])
    shapes = {
        "none": None,
        "wrong": f"Bearer {first}",
        "expired": f"Bearer {expired}",
        "truncated": f"Bearer {secret[:-1]}",
        "oversized": f"Bearer {secret * 500}",
    }
    statuses: Counter[tuple[str, int]] = Counter()
    contents = set()
    with requests.Session() as session:

        def ask(header: str | None) -> tuple[int, str, float]:
            headers = {"Content-Type": "application/json", **({"Authorization": header} if header else {})}
            began = time.perf_counter()
            answer = session.post(url, data=body, headers=headers, timeout=60)
            return (
                answer.status_code,
                answer.text + answer.headers.get("WWW-Authenticate", ""),
                time.perf_counter() - began,
            )

        for number in range(REFUSED):
            shape = list(shapes)[number % len(shapes)]
            status, content, _ = ask(shapes[shape])
            statuses[shape, status] += 1
            contents.add(content)
        times: dict[str, list[float]] = {first: [], last: []}
        for number in range(PAIRS):
            for wrong in (first, last) if number % 2 else (last, first):
                times[wrong].append(ask(f"Bearer {wrong}")[2])
    table = pd.DataFrame([{"token": shape, "status": status, "requests": n} for (shape, status), n in statuses.items()])
    report.table("tokens", table)
    refused = sum(count for (_, status), count in statuses.items() if status == 401)
    report.claim(f"requests of {REFUSED} without a valid token that get 401", refused, str(REFUSED), refused == REFUSED)
    report.claim("different texts among these answers", len(contents), "1", len(contents) == 1)
    log = (versions.folder / f"server-{address.rpartition(':')[2]}.log").read_text()
    leaks = sum(text in log or text in "".join(contents) for text in (secret, first, last, expired, secret[:-1]))
    report.claim("tokens in the log or in an answer", leaks, "0", not leaks)
    p = float(mannwhitneyu(times[first], times[last]).pvalue)
    medians = [1e6 * float(np.median(times[wrong])) for wrong in (first, last)]
    report.table(
        "timing", pd.DataFrame({"wrong": ["first byte", "last byte"], "requests": PAIRS, "median_us": medians})
    )
    claim = f"p-value of the Mann-Whitney test of {PAIRS} pairs of times, first and last byte wrong"
    report.claim(claim, p, "above 0.01", p > 0.01)


def _other(letter: str) -> str:
    return "a" if letter != "a" else "b"
