"""Stage register: the final model of a set in MLflow's registry, and what was decided about it."""

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
from pipeline.registry import champion, final_model, versions
from pipeline.registry.champion import Measured
from pipeline.registry.final_model import FinalModel, Selection
from pipeline.registry.versions import CHALLENGER, CHAMPION, Registry
from pipeline.tracking import connection

log = logging.getLogger(__name__)


def run(name: str, params: Params, root: Path = Path(), promote: bool = False) -> dict[str, Any]:
    """Write registry/NAME.json (winner, standing, version, alias, why), and return it."""
    check_models(params)
    table = results.read(name, root / paths.RESULTS)
    manifest.check_settings(root / paths.RESULTS / name, params.models, params)
    chosen = final_model.winner(name, table, params)
    record: dict[str, Any] = {
        "dataset": name,
        "model": chosen.model,
        "metric": params.register_.metric,
        "metrics": chosen.metrics,
        "standing": chosen.standing,
        "margin": params.register_.margin,
    }
    if not params.tracking.enabled:
        record |= {"registered": None, "why": "tracking.enabled is false"}
    else:
        with file_lock.locked(root / paths.LOCKS / f"{name}.register.lock", f"the registration of {name}"):
            try:
                record |= _register(name, chosen, params, root, promote)
            except (MlflowException, SQLAlchemyError) as error:
                said = first_line(error)
                raise UserError(f"{name} could not be registered: {said}. Mend this, and run it again.") from None
    write_json(root / paths.REGISTRY / f"{name}.json", record, infinite=True)
    return record


def _register(name: str, chosen: Selection, params: Params, root: Path, promote: bool) -> dict[str, Any]:
    client, experiment = connection.connect(params.tracking.experiment, root)
    held = Registry(client, experiment, name, connection.owner(root))
    work = final_model.plan(name, chosen.model, params, root)
    version = held.version(work.key)
    new = version is None
    number = str(version.version) if version else _add(held, work, chosen, params, root)
    rule = f"{params.register_.metric}, margin {params.register_.margin!r}"  # under another one it is decided again
    if version is None or version.tags.get(versions.RULE) != rule or promote:
        decision = _decide(held, number, work, chosen, params, root, promote)
        # Last: a version with the rule that it was decided by is done.
        held.describe_decision(number, decision, rule)
    tags = client.get_model_version(held.name, number).tags
    alias, champion_now = held.standing(number)
    why = tags[versions.WHY]
    if alias != tags[versions.DECISION]:  # a later version was decided since, or somebody moved an alias
        why = f"{champion_now}; what was decided for this one: {tags[versions.DECISION]}, {why}"
    log.info(
        "%s: %s version %s (%s, %s) %s: %s.",
        name,
        held.name,
        number,
        chosen.model,
        "new" if new else "registered before",
        alias,
        why,
    )
    return {
        "registered": held.name,
        "version": int(number),
        "decision": alias,
        "why": why,
        "settings": work.settings,
        "data_digest": work.data_digest,
        "key": work.key,
    }


def _add(held: Registry, work: FinalModel, chosen: Selection, params: Params, root: Path) -> str:
    table = results.read(work.dataset, root / paths.RESULTS)
    pipe, sigmoid = final_model.fit(work, table, params, root)
    run_id = held.training_run(work.dataset, work.model, work.trained)
    class_path = params.classifiers[work.model].class_
    try:
        return held.add(pipe, sigmoid, work.key, class_path, chosen.metrics, run_id)
    except ValueError as error:
        hint = "review and add the types there, or leave the model out of register.candidates"
        raise UserError(f"{work.dataset}: {work.model} cannot be stored without a pickle: {error}; {hint}.") from None


def _decide(
    held: Registry, number: str, work: FinalModel, chosen: Selection, params: Params, root: Path, promote: bool
) -> str:
    """Apply the rule, move the alias, and return which."""
    rule = params.register_
    present = held.holder(CHAMPION)
    others = None
    if present is not None:
        others = Measured(
            str(present.version), versions.metric(present, rule.metric), present.tags.get(versions.DATA, "")
        )
    decision = champion.decide(Measured(number, chosen.metrics.get(rule.metric), work.data_digest), others, rule)
    if promote and not decision.promoted:
        decision = champion.Decision(True, f"asked for by --promote; by the rule: {decision.why}")
    facts = {
        "dataset": work.dataset,
        "model": work.model,
        "settings": work.settings,
        versions.DATA: work.data_digest,
        "source": Provenance.read(work.dataset, root / paths.DATA).source,
        "commit": machine.commit(),
        "command": shlex.join(["ldep", "register", work.dataset]),
        versions.WHY: decision.why,
    }
    held.describe(number, _description(work, chosen, decision.why), versions.tags(chosen.metrics, facts))
    alias = CHAMPION if decision.promoted else CHALLENGER
    held.point(alias, number)
    return alias


def _description(work: FinalModel, chosen: Selection, why: str) -> str:
    shown = ", ".join(f"{name} {value:.4f}" for name, value in chosen.metrics.items())
    standing = ", ".join(f"{model} {value:.4f}" for model, value in chosen.standing.items())
    return "\n\n".join(
        [
            f"**{work.model}** on **{work.dataset}**, fitted on all rows. It takes raw rows: encoder, imputer "
            "and scaler are inside.",
            f"Cross-validation, mean over the folds: {shown}. Candidates: {standing}.",
            f"Settings: `{json.dumps(work.settings)}`.",
            f"Decision: {why}.",
            'It answers the class; with `"params": {"output": "full"}` score, probability and explanation too.',
        ]
    )
