"""The history of a registered model: what happened to its versions, when, through whom, and why.

It is kept in the registry itself, as tags of the registered model, so that everybody who uses a shared server reads the
same. Each event is a tag of its own, whose name begins with its moment: two processes that write at once cannot lose
each other's events.
"""

from __future__ import annotations

import datetime
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import mlflow

from ldep_pipeline.registry.keys import person

TAG = "ldep.event."  # followed by the moment and some random characters
REGISTERED, PROMOTED, CHALLENGED = "registered", "promoted", "kept as challenger"
ROLLED_BACK, REPLACED = "rolled back", "replaced"
EVENTS = (REGISTERED, PROMOTED, CHALLENGED, ROLLED_BACK, REPLACED)
MAKES_CHAMPION = (PROMOTED, ROLLED_BACK)
LONGEST_TAG = 4500  # bytes; MLflow stores 5,000 of a tag
RULE, ON_REQUEST = "the rule", "on request"


@dataclass(frozen=True)
class Event:
    """What happened to a version. `instead_of` is the version that was champion before, or that was replaced.

    `decided_by` is the rule, or that somebody asked for it.
    """

    what: str
    version: str
    why: str
    instead_of: str = ""
    decided_by: str = ""
    model: str = ""
    by: str = ""
    when: str = ""


def record(client: mlflow.MlflowClient, name: str, event: Event) -> None:
    """Add an event of this moment to the history of a registered model."""
    now = datetime.datetime.now(datetime.UTC)
    event = replace(event, by=person(), when=now.isoformat(timespec="seconds"))
    fields = {key: value for key, value in asdict(event).items() if value}
    while len(text := json.dumps(fields)) > LONGEST_TAG:
        fields["why"] = fields["why"][:-100] + "..."
    client.set_registered_model_tag(name, f"{TAG}{now:%Y%m%dT%H%M%S.%f}.{secrets.token_hex(2)}", text)


def read(tags: Mapping[str, str]) -> list[Event]:
    """The events among the tags of a registered model, the first one first. What is not an event is left out."""
    found = (_event(tags[name]) for name in sorted(tags) if name.startswith(TAG))
    return [event for event in found if event is not None]


def _event(text: str) -> Event | None:
    """The event of a tag; None if somebody wrote something else there."""
    try:
        event = Event(**json.loads(text))
    except (ValueError, TypeError, RecursionError):
        return None
    return event if event.what in EVENTS and all(isinstance(value, str) for value in vars(event).values()) else None


def champions(events: Sequence[Event]) -> list[str]:
    """The versions that became champion, the first one first; one that was made again counts as its successor."""
    found: list[str] = []
    for event in events:
        if event.what in MAKES_CHAMPION:
            found.append(event.version)
        elif event.what == REPLACED:
            found = [event.version if version == event.instead_of else version for version in found]
    return found


def previous_champion(events: Sequence[Event], present: str) -> str | None:
    """The last champion before the present one; None if the history names none."""
    earlier = champions(events)
    while earlier and earlier[-1] == present:
        earlier.pop()
    return earlier[-1] if earlier else None


def left_by_rollback(events: Sequence[Event], version: str) -> Event | None:
    """The rollback that took a version out of service, unless it has become champion again since."""
    for event in reversed(events):
        if event.what == REPLACED and event.version == version:
            version = event.instead_of
        elif event.what == ROLLED_BACK and event.instead_of == version:
            return event
        elif event.what in MAKES_CHAMPION and event.version == version:
            return None
    return None


def unexplained(events: Sequence[Event], present: str | None) -> bool:
    """Whether the champion is not the one of the last event: somebody moved the alias without `ldep`."""
    known = champions(events)
    return bool(known) and known[-1] != present


def as_json(events: Sequence[Event]) -> list[dict[str, Any]]:
    return [asdict(event) for event in events]
