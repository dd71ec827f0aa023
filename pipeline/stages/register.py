"""Stage register: fit the best model of a data set on all its rows, register it, and decide about its alias."""

from __future__ import annotations

import json
import logging
import shlex
from pathlib import Path
from typing import Any

from mlflow.exceptions import MlflowException
from sqlalchemy.exc import SQLAlchemyError

from pipeline.common import file_lock, machine
from pipeline.common.errors import UserError, first_line
from pipeline.common.files import write_json
from pipeline.config import paths
from pipeline.config.models import check_models
from pipeline.config.params import Params
from pipeline.data.provenance import Provenance
from pipeline.execution import manifest, results
from pipeline.registry import champion, final_model, selection, versions
from pipeline.registry.champion import Measured, Rule
from pipeline.registry.examination.examine import examine
from pipeline.registry.final_model import FinalModel
from pipeline.registry.selection import Selection
from pipeline.registry.versions import CHALLENGER, CHAMPION, Intact, Registry
from pipeline.tracking import connection, patience

log = logging.getLogger(__name__)


def run(name: str, params: Params, root: Path = Path(), promote: bool = False) -> dict[str, Any]:
    """Write registry/NAME.json (selected model, version, alias, why), and return its content."""
    check_models(params)
    table = results.read(name, root / paths.RESULTS)
    manifest.check_settings(root / paths.RESULTS / name, params.models, params)
    selected = selection.select(name, table, params)
    record: dict[str, Any] = {
        "dataset": name,
        "model": selected.model,
        "metric": params.metric,
        "metrics": selected.metrics,
        "ranking": selected.ranking,
        "margin": params.register_.margin,
    }
    if not params.tracking.enabled:
        record |= {"registered": None, "why": "tracking.enabled is false"}
    else:
        with file_lock.locked(root / paths.LOCKS / f"{name}.register.lock", f"the registration of {name}"):
            work = final_model.plan(name, selected.model, params, root)
            record |= _threshold_record(work) | _register(work, selected, params, root, promote)
    if name in params.own_data:  # the report of an own data set takes a closer look at its model
        record["examination"] = examine(name, selected.model, params.metric, table, params, root)
    write_json(root / paths.REGISTRY / f"{name}.json", record, infinite=True)
    return record


def _threshold_record(work: FinalModel) -> dict[str, Any]:
    """The threshold of the decision value, and the metric on unseen rows with it and with 0."""
    threshold = work.threshold
    if threshold is None:
        return {"threshold": None}
    return {
        "threshold": threshold.value,
        "metric_at_threshold": threshold.metric_at_threshold,
        "metric_at_default": threshold.metric_at_default,
    }


def _register(work: FinalModel, selected: Selection, params: Params, root: Path, promote: bool) -> dict[str, Any]:
    client, experiment = connection.connect(params.tracking.experiment, root, params.metric)
    registry = Registry(client, experiment, work.dataset, root)

    def write() -> dict[str, Any]:
        return _Registration(registry, work, selected, params, promote).run()

    try:
        return patience.call(f"registering {work.dataset}", connection.store_uri(root), write)
    except (MlflowException, SQLAlchemyError, OSError) as error:
        reason = first_line(error)
        raise UserError(f"{work.dataset} could not be registered: {reason}. Fix this and run it again.") from None


class _Registration:
    """One run of the stage on the registered model of one data set."""

    def __init__(
        self, registry: Registry, work: FinalModel, selected: Selection, params: Params, promote: bool
    ) -> None:
        self.registry, self.work, self.selected = registry, work, selected
        self.params, self.promote = params, promote
        self.rule = Rule(params.metric, params.register_.margin)

    def run(self) -> dict[str, Any]:
        self.registry.mark_winner(self.registry.training_run(self.work.model, self.work.training_key))
        version, broken = self.registry.find(self.work.key)
        is_new = version is None
        if version is None:
            version = self._add()
        for old in broken:
            message = "%s: version %s of %s is replaced by version %s: %s."
            log.warning(message, self.work.dataset, old.number, self.registry.name, version.number, old.reason)
            self.registry.replace(old, version.number)
        rule = champion.identity(self.rule)
        if self.promote or not versions.is_decided(self.registry.tags_of(version.number), rule):
            decision = self._decide(version.number)
            # Last, so that a version with this tag is complete.
            self.registry.describe_decision(version.number, decision, rule)
        alias, why = self._outcome(version.number)
        log.info(
            "%s: %s version %s (%s, %s) %s: %s.",
            self.work.dataset,
            self.registry.name,
            version.number,
            self.work.model,
            "new" if is_new else "registered before",
            alias,
            why,
        )
        return {
            "registered": self.registry.name,
            "version": int(version.number),
            "decision": alias,
            "why": why,
            "settings": self.work.settings,
            "data_digest": self.work.data_digest,
            "key": self.work.key,
            "manifest": version.manifest,
        }

    def _add(self) -> Intact:
        fitted = final_model.fit(self.work, self.params, self.registry.root)
        run_id = self.registry.training_run(self.work.model, self.work.training_key)
        try:
            return self.registry.add(
                fitted, self.work.key, self.selected.metrics, run_id, self.params.register_.ship_code
            )
        except ValueError as error:
            raise UserError(
                f"{self.work.dataset}: {self.work.model} cannot be stored without a pickle: {error}; "
                "review and add the types there, or leave the model out of register.candidates."
            ) from None

    def _decide(self, number: str) -> str:
        """Apply the rule, describe the version, move the alias, and return which."""
        holder = self.registry.holder(CHAMPION)
        present = None
        if holder is not None:
            value = versions.metric_of(holder, self.rule.metric)
            present = Measured(str(holder.version), value, holder.tags.get(versions.DATA, ""))
        new = Measured(number, self.selected.metrics.get(self.rule.metric), self.work.data_digest)
        decision = champion.decide(new, present, self.rule)
        if self.promote and not decision.promoted:
            decision = champion.Decision(True, f"requested by --promote; by the rule: {decision.why}")
        facts = {
            "dataset": self.work.dataset,
            "model": self.work.model,
            "settings": self.work.settings,
            versions.DATA: self.work.data_digest,
            "source": Provenance.read(self.work.dataset, self.registry.root / paths.DATA).source,
            "commit": machine.commit(),
            "command": shlex.join(["ldep", "register", self.work.dataset]),
            versions.WHY: decision.why,
        }
        self.registry.describe(number, self._description(decision.why), versions.as_tags(self.selected.metrics, facts))
        alias = CHAMPION if decision.promoted else CHALLENGER
        self.registry.point(alias, number)
        return alias

    def _outcome(self, number: str) -> tuple[str, str]:
        """The alias that the version holds now, and why.

        The alias may differ from the decision: a later version may have been decided, or somebody moved it.
        """
        tags, alias = self.registry.tags_of(number), self.registry.alias_of(number)
        why = tags[versions.WHY]
        if alias == tags[versions.DECISION]:
            return alias, why
        holder = self.registry.holder(CHAMPION)
        now = "no version" if holder is None else f"version {holder.version}"
        return alias, f"{now} is the champion now; the decision for this version was {tags[versions.DECISION]}: {why}"

    def _threshold_text(self) -> str:
        threshold = self.work.threshold
        if threshold is None:
            return "The threshold of its decision value is that of the model."
        return (
            f"The threshold of its decision value is {threshold.value:.4g}. On unseen rows of all folds together "
            f"{self.params.metric} is {threshold.metric_at_threshold:.4f} with it, and "
            f"{threshold.metric_at_default:.4f} without it."
        )

    def _description(self, why: str) -> str:
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
                'It answers the class; with `"params": {"output": "full"}` also score, probability and explanation.',
            ]
        )
