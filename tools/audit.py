"""Ask PyPI for known vulnerabilities of the pinned packages.

The command fails if a pin has a known vulnerability for which REASONS gives no reason to keep it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import requests

from tools.locks import ALL_LOCKS, pins

INDEX = "https://pypi.org/pypi"
# Known vulnerabilities that we accept, and why; docs/dependencies.md says more.
REASONS = {
    "CVE-2025-69872": "it unpickles its cache, which .dvc/config puts into the project's own folder",
}


class AuditError(Exception):
    """The index cannot be asked."""


@dataclass
class Findings:
    """One line per vulnerability; `unanswered` lists the pins about which the index says nothing."""

    vulnerable: list[str] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)


def vulnerabilities(pin: str, index: str = INDEX) -> list[dict[str, Any]] | None:
    """Return the vulnerabilities of one `name==version`, or None if the index has no answer.

    PyPI answers per release. A mirror may answer for the newest release only; that counts if it is the pinned one.
    """
    name, version = pin.split(" ")[0].split("==")
    name = name.split("[")[0]
    for address in (f"{index}/{name}/{version}/json", f"{index}/{name}/json"):
        try:
            answer = requests.get(address, timeout=60)
        except requests.RequestException as error:
            raise AuditError(f"{address} does not answer ({type(error).__name__}); the audit needs PyPI.") from None
        if answer.status_code == 404:
            continue
        if not answer.ok:
            raise AuditError(f"{address} answers with status {answer.status_code}; try again later.")
        content = answer.json()
        if content["info"]["version"] == version and "vulnerabilities" in content:
            return [entry for entry in content["vulnerabilities"] if not entry.get("withdrawn")]
    return None


def audit(requirements: Iterable[str], index: str = INDEX) -> Findings:
    """Ask the index about every pin."""
    unique = sorted(set(requirements))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(partial(vulnerabilities, index=index), unique))
    findings = Findings()
    for pin, entries in zip(unique, answers):
        if entries is None:
            findings.unanswered.append(pin)
            continue
        for entry in entries:
            identifiers = sorted({entry["id"], *entry.get("aliases", [])})
            fixed = ", ".join(entry.get("fixed_in", [])) or "no release"
            line = f"{pin}: {', '.join(identifiers)}, fixed in {fixed}"
            reasons = [REASONS[identifier] for identifier in identifiers if identifier in REASONS]
            if reasons:
                findings.accepted.append(f"{line}; accepted: {reasons[0]}.")
            else:
                findings.vulnerable.append(f"{line}.")
    return findings


def main() -> int:
    description, _, details = (__doc__ or "").partition("\n\n")
    argparse.ArgumentParser(prog="python -m tools.audit", description=description, epilog=details).parse_args()
    requirements = [pin for lock in ALL_LOCKS for pin in pins(lock.read_text(encoding="utf-8"))]
    try:
        findings = audit(requirements)
    except AuditError as error:
        print(f"audit: {error}", file=sys.stderr)
        return 1
    for line in (*findings.vulnerable, *findings.accepted):
        print(line)
    print(f"{len(set(requirements))} pins: {len(findings.vulnerable)} known vulnerabilities that are not accepted.")
    if findings.unanswered:
        print(f"The index has no answer for {len(findings.unanswered)} pins: {', '.join(findings.unanswered)}.")
    return 1 if findings.vulnerable else 0


if __name__ == "__main__":
    sys.exit(main())
