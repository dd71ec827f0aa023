"""The registration of a final model in MLflow: its version with tags and a description, and the alias that it gets.

Whatever interrupts it, it can be run again: the version is found by its key, and is decided about only once.

The champion of other data or folds is measured again: its settings are fitted out of fold on the rows of today. So a
new version and the champion are compared on the same rows and folds, and neither is asked about rows that it has seen.
The fits are stored like those of `train`.
"""

from __future__ import annotations

import json
import logging
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ldep_pipeline.common import machine, progress
from ldep_pipeline.common.digests import digest
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.config import paths
from ldep_pipeline.config.params import Params
from ldep_pipeline.data.folds import load_training_data
from ldep_pipeline.data.settings import Promised
from ldep_pipeline.data.stage_files import Provenance, read_raw
from ldep_pipeline.execution import plan, thresholds
from ldep_pipeline.fitting.fit import FitTask, run_fit
from ldep_pipeline.metrics.metric import METRICS
from ldep_pipeline.registry import download, final_model, history, notifications, promises, promotion, versions
from ldep_pipeline.registry.final_model import FinalModel
from ldep_pipeline.registry.history import Event
from ldep_pipeline.registry.origin import Origin
from ldep_pipeline.registry.promotion import Again, Measured, PromotionRule
from ldep_pipeline.registry.selection import Selection
from ldep_pipeline.registry.skill import standard_error
from ldep_pipeline.registry.versions import CHALLENGER, CHAMPION, Registry
from ldep_pipeline.serving.served_model import ServedModel
from ldep_pipeline.tracking import connection

log = logging.getLogger(__name__)


def register(work: FinalModel, selected: Selection, params: Params, root: Path, promote: bool) -> dict[str, Any]:
    """Register the selected model of a data set; return its version, its alias, and why.

    promote: make the version the champion, whatever the rule says.
    """
    store = connection.connect(params.tracking.experiment, root)
    registration = _Registration(Registry(store, work.dataset, root), work, selected, params, promote)
    problem = f"{work.dataset} could not be registered"
    record = store.do(f"registering {work.dataset}", registration.run, problem, "Fix this and run it again")
    for event in registration.promotions:
        notifications.send(params.notify, "promotion", facts(work.dataset, registration.registry.name, event), root)
    return record


def facts(dataset: str, name: str, event: Event) -> dict[str, Any]:
    """What a notification says of a version that became champion."""
    return {
        "dataset": dataset,
        "model": name,
        "version": event.version,
        "instead_of": event.instead_of or None,
        "decided_by": event.decided_by,
        "why": event.why,
    }


@dataclass(frozen=True)
class _Registration:
    """One run of the stage on the registered model of one data set."""

    registry: Registry
    work: FinalModel
    selected: Selection
    params: Params
    promote: bool
    promotions: list[Event] = field(default_factory=list)
    """The events of this run, of which somebody may be notified."""

    @property
    def rule(self) -> PromotionRule:
        return PromotionRule(self.params.metric, self.params.register_.margin)

    def run(self) -> dict[str, Any]:
        """Add a version unless there is one with the same key, decide about it, and return the record of the stage."""
        run_id = self.registry.training_run(self.work.model, self.work.training_key)
        self.registry.mark_winner(run_id)
        version, broken = self.registry.find(self.work.key)
        is_new = version is None
        if version is None:
            version = self._add(run_id)
        for old in broken:
            message = "%s: version %s of %s is replaced by version %s: %s."
            log.warning(message, self.work.dataset, old.number, self.registry.name, version, old.reason)
            self.registry.replace(old, version)
            self.registry.record(Event(history.REPLACED, version, f"{old.reason}", instead_of=old.number))
        self._record_registration(version)
        rule = promotion.identity(self.rule) + promises.identity(self._promised)
        client, name = self.registry.client, self.registry.name
        if self.promote or not versions.is_decided(client.get_model_version(name, version).tags, rule):
            decision = self._decide(version)
            # Last, so that a version with these tags is complete.
            client.set_model_version_tag(name, version, versions.DECISION, decision)
            client.set_model_version_tag(name, version, versions.RULE, rule)
        standing = versions.standing(client, name, version)
        proven = promises.from_tag(client.get_model_version(name, version).tags.get(promises.TAG))
        log.info(
            "%s: %s version %s (%s, %s) %s: %s.",
            self.work.dataset,
            self.registry.name,
            version,
            self.work.model,
            "new" if is_new else "registered before",
            standing["decision"],
            standing["why"],
        )
        return {
            "registered": self.registry.name,
            "version": int(version),
            **standing,
            "settings": self.work.settings,
            "data_digest": self.work.data_digest,
            "key": self.work.key,
            **({"promises": proven} if self._promised else {}),
        }

    @property
    def _promised(self) -> list[Promised]:
        own = self.params.own_data.get(self.work.dataset)
        return own.promises if own is not None else []

    def _proofs(self, number: str) -> list[promises.Record]:
        """What is known about each promise of the data set."""
        if not self._promised:
            return []
        name, champion = self.registry.name, self.registry.holder(CHAMPION)

        def other(uri: str) -> ServedModel | None:
            absent = uri == f"models:/{name}@{CHAMPION}" and champion is None
            return None if absent else download.load(uri, self.registry.root)

        model = download.load(f"models:/{name}/{number}", self.registry.root)
        rows = read_raw(self.work.dataset, self.registry.root / paths.DATA)
        with progress.of_one_step(f"{self.work.dataset}: proving {len(self._promised)} promises"):
            return [record for record, _ in promises.check(model, self._promised, rows, other)]

    def _add(self, run_id: str | None) -> str:
        fitted = final_model.fit(self.work, self.params, self.registry.root)
        data = load_training_data(self.work.dataset, self.registry.root / paths.DATA)
        origin = Origin.of(data, self.selected, self.params.own_data.get(self.work.dataset), self.params)
        key, ship_code = self.work.key, self.params.register_.ship_code
        try:
            return self.registry.add(fitted, origin, key, self.selected.metrics, run_id, ship_code)
        except ValueError as error:
            raise UserError(
                f"{self.work.dataset}: {self.work.model} cannot be stored without a pickle: {error}; "
                "review and add the types there, or leave the model out of register.candidates."
            ) from None

    def _record_registration(self, number: str) -> None:
        """Add the registration to the history, unless an interrupted run has done so."""
        if any(event.what == history.REGISTERED and event.version == number for event in self.registry.events()):
            return
        metric = METRICS[self.params.metric]
        value = self.selected.metrics[metric.name]
        why = f"the best candidate that qualifies, with {metric.noun} {metric.text(value)}{metric.unit}"
        self.registry.record(Event(history.REGISTERED, number, why, model=self.work.model))

    def _record_decision(self, number: str, decision: promotion.Decision, champion: str) -> None:
        """Add a decision to the history, unless it changes nothing."""
        events = self.registry.events()
        if decision.promoted and history.champions(events)[-1:] == [number]:
            return
        what = history.PROMOTED if decision.promoted else history.CHALLENGED
        if any((event.what, event.version, event.why) == (what, number, decision.why) for event in events[-1:]):
            return
        decided_by = history.ON_REQUEST if self.promote else history.RULE
        event = Event(what, number, decision.why, "" if champion == number else champion, decided_by)
        self.registry.record(event)
        if decision.promoted:
            self.promotions.append(event)

    def _decide(self, number: str) -> str:
        """Apply the rule, describe the version, move the alias, and return which."""
        holder = self.registry.holder(CHAMPION)
        present = None
        if holder is not None:
            value = versions.metric_of(holder, self.rule.metric)
            present = Measured(str(holder.version), value, holder.tags.get(versions.DATA, ""))
            if present.data != self.work.data_digest and present.version != number:
                present = replace(present, again=self._again(holder.tags))
        new = Measured(number, self.selected.metrics.get(self.rule.metric), self.work.data_digest)
        decision = promotion.decide(new, present, self.rule)
        if not self.selected.has_skill:
            decision = promotion.Decision(False, self.selected.why_not(self.params.metric))
        rollback = history.left_by_rollback(self.registry.events(), number)
        if rollback is not None:
            decision = promotion.Decision(
                False,
                f"{rollback.by} rolled back to version {rollback.version} on {rollback.when}: {rollback.why}; "
                "`ldep register --promote` makes this one the champion again",
            )
        proofs = self._proofs(number)
        broken = promises.why_not(proofs)
        if broken is not None and present is not None and present.version == number:
            decision = promotion.Decision(decision.promoted, f"{decision.why}, but {broken}")
        elif broken is not None and decision.promoted:
            decision = promotion.Decision(False, broken)
        if self.promote and not decision.promoted:
            decision = promotion.Decision(True, f"requested by --promote; by the rule: {decision.why}")
        facts = {
            "dataset": self.work.dataset,
            "model": self.work.model,
            "settings": self.work.settings,
            versions.DATA: self.work.data_digest,
            "source": Provenance.read(self.work.dataset, self.registry.root / paths.DATA).source,
            "commit": machine.commit(),
            "command": shlex.join(["ldep", "register", self.work.dataset]),
            versions.BEATS_GUESSING: self.selected.has_skill,
            versions.WHY: decision.why,
        }
        if proofs:
            facts[promises.TAG] = promises.as_tag(proofs)
        client, name = self.registry.client, self.registry.name
        client.update_model_version(name, number, self._description(decision.why, proofs))
        for tag, text in versions.as_tags(self.selected.metrics, facts).items():
            client.set_model_version_tag(name, number, tag, text)
        alias = CHAMPION if decision.promoted else CHALLENGER
        self.registry.point(alias, number)
        self._record_decision(number, decision, "" if holder is None else str(holder.version))
        return alias

    def _again(self, tags: dict[str, str]) -> Again:
        """The settings of a champion of other data, on the rows and folds of this version."""
        try:
            values = measure(self.work.dataset, tags, self.params, self.registry.root)
        except NoRematch as error:
            return Again(None, problem=str(error))
        data = load_training_data(self.work.dataset, self.registry.root / paths.DATA)
        if not np.isfinite(values).all():
            return Again(None, problem=f"with its settings there is no {self.rule.metric}")
        return Again(float(np.mean(values)), standard_error(self.selected.values - values, data))

    def _threshold_text(self) -> str:
        threshold = self.work.threshold
        if threshold is None:
            return "The threshold of its decision value is that of the model."
        return (
            f"The threshold of its decision value is {threshold.value:.4g}. With thresholds chosen in the training "
            f"folds, {threshold.metric} is {threshold.metric_at_threshold:.4f} on unseen rows, and without any "
            f"{threshold.metric_at_default:.4f}."
        )

    def _description(self, why: str, proofs: list[promises.Record]) -> str:
        metrics = ", ".join(f"{name} {value:.4f}" for name, value in self.selected.metrics.items())
        ranking = ", ".join(f"{model} {value:.4f}" for model, value in self.selected.ranking.items())
        return "\n\n".join(
            [
                f"**{self.work.model}** on **{self.work.dataset}**, fitted on all rows. It takes raw rows: encoder, "
                "imputer and scaler are inside.",
                f"Cross-validation, mean over the folds: {metrics}. Candidates: {ranking}.",
                f"Settings: `{json.dumps(self.work.settings)}`.",
                self._threshold_text(),
                f"Decision: {why}.",
                *(f"Promise {'kept' if proof['kept'] else 'NOT kept'}: {proof['why']}." for proof in proofs),
                'It answers the class; with `"params": {"output": "full"}` also score, probability and explanation.',
            ]
        )


class NoRematch(Exception):
    """The settings of the champion cannot be fitted again; the message says why."""


def measure(dataset: str, tags: Mapping[str, str], params: Params, root: Path) -> np.ndarray:
    """The metric that decides, on each fold. tags: those of the champion's version."""
    model = tags.get("model", "")
    if model not in params.classifiers:
        raise NoRematch(f"its model, {model or 'unknown'}, is not one of classifiers")
    try:
        settings = json.loads(tags["settings"])
    except (KeyError, ValueError):  # a tag cannot hold the settings of a large ensemble
        raise NoRematch("its settings are not recorded completely") from None
    data = load_training_data(dataset, root / paths.DATA)
    trained = plan.make(dataset, params, data.partition, root / paths.DATA, root / paths.STATE, [model])
    tasks = {fold: _with_settings(task, settings) for (_, fold), task in trained.fits.items()}
    records: dict[int, dict[str, Any]] = {}
    decisions: dict[int, np.ndarray] = {}
    with progress.of_one_step(f"{dataset}: fitting the settings of the champion, {model}, on the new rows"):
        for fold, task in tasks.items():
            result = trained.store.get_fit(task.key) or run_fit(task, data)
            if result.record["status"] == "failed":
                raise NoRematch(f"with its settings, {model} fails on the new rows: {result.record['message']}")
            trained.store.put_fit(task.key, replace(result, pipeline=None))
            records[fold] = dict(result.record)
            if result.decisions is not None:
                decisions[fold] = result.decisions
    chosen = thresholds.choose(params.metric, params.costs, data, decisions)
    if chosen is not None:
        for fold, record in records.items():
            thresholds.apply(chosen, params.costs, data, fold, decisions[fold], record)
    values = [records[fold]["metrics"].get(params.metric) for fold in sorted(records)]
    return np.array(values, dtype=np.float64)


def _with_settings(task: FitTask, settings: dict[str, Any]) -> FitTask:
    key = digest("rematch", task.key, settings)
    if task.entry.ensemble is not None:
        return replace(task, key=key, ensemble=settings)
    return replace(task, key=key, chosen=settings)
