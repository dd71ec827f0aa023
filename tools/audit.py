"""Known vulnerabilities of the pinned packages, as PyPI tells them: `python -m tools.audit`, or `make audit`.

PyPI answers for each release. An index that mirrors it may answer for the newest one alone; that is asked then, and
counts if it is the pinned one. A pin without an answer is listed as such: it is neither good nor bad.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import requests

from pipeline.common.errors import UserError
from tools.conda import LOCK, pins

LOCKS = (LOCK, Path("benchmarks/requirements.lock"), Path("tests/ui-requirements.lock"))
INDEX = "https://pypi.org/pypi"
# What is known and stays, and why; docs/dependencies.md says more.
REASONS = {
    "CVE-2025-69872": "it unpickles its cache, which .dvc/config puts into the project's own folder",
}


def ask(pin: str, index: str = INDEX) -> list[dict[str, Any]] | None:
    """The vulnerabilities of one `name==version`; None if the index does not say."""
    name, version = pin.split(" ")[0].split("==")
    name = name.split("[")[0]
    for address in (f"{index}/{name}/{version}/json", f"{index}/{name}/json"):
        try:
            answer = requests.get(address, timeout=60)
        except requests.RequestException as error:
            raise UserError(f"{address} does not answer ({type(error).__name__}); the audit needs PyPI.") from None
        if answer.status_code == 404:
            continue
        if not answer.ok:
            raise UserError(f"{address} answers with status {answer.status_code}; try again later.")
        content = answer.json()
        if content["info"]["version"] == version and "vulnerabilities" in content:
            return [found for found in content["vulnerabilities"] if not found.get("withdrawn")]
    return None


def audit(wanted: Iterable[str], index: str = INDEX) -> tuple[list[str], list[str], list[str]]:
    """What is reported and has no reason, what has one, and the pins that the index has no answer for."""
    wanted = sorted(set(wanted))
    with ThreadPoolExecutor(8) as pool:
        answers = dict(zip(wanted, pool.map(lambda pin: ask(pin, index), wanted)))
    bad, explained = set(), set()
    for pin, found in answers.items():
        for one in found or []:
            names = sorted({one["id"], *one.get("aliases", [])})
            fixed = ", ".join(one.get("fixed_in", [])) or "no release"
            reason = next((REASONS[name] for name in names if name in REASONS), None)
            line = f"{pin}: {', '.join(names)}, fixed in {fixed}"
            explained.add(f"{line}: {reason}.") if reason else bad.add(f"{line}.")
    return sorted(bad), sorted(explained), [pin for pin, found in answers.items() if found is None]


def main() -> int:
    wanted = [pin for lock in LOCKS for pin in pins(lock.read_text(encoding="utf-8"))]
    try:
        bad, explained, silent = audit(wanted)
    except UserError as error:
        print(f"audit: {error}", file=sys.stderr)
        return 1
    for line in (*bad, *explained):
        print(line)
    print(f"{len(set(wanted))} pins: {len(bad)} with a known vulnerability and no reason to keep them.")
    if silent:
        print(f"The index has no answer for {len(silent)}, which are not the newest: {', '.join(silent)}.")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
