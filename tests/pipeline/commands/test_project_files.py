"""The Dockerfile, the compose file and the workflow of a new project: their commands exist, and their parts fit."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from ldep_pipeline.commands import init
from ldep_pipeline.commands.main import build_parser

FILES = init.content("churn")
DOCKERFILE, COMPOSE = FILES["Dockerfile"], yaml.safe_load(FILES["compose.yaml"])
WORKFLOW = yaml.safe_load(FILES[".github/workflows/repro.yml"])


def test_the_image_runs_a_command_of_ldep():
    (command,) = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, flags=re.MULTILINE)
    program, *arguments = json.loads(command)
    assert program == "ldep"
    args = build_parser().parse_args(arguments)
    assert (args.host, args.port, args.follow) == ("0.0.0.0", 5001, True)
    assert str(args.tokens) == "/run/secrets/tokens"
    assert f"EXPOSE {args.port}" in DOCKERFILE


def test_the_image_copies_files_of_a_project_only():
    copied = [name for line in re.findall(r"^COPY (.*)$", DOCKERFILE, flags=re.MULTILINE) for name in line.split()[:-1]]
    assert set(copied) - set(FILES) == {"trusted-keys.jso[n]"}  # a pattern: the file need not be there yet


def test_the_health_check_asks_an_address_of_the_server():
    from ldep_pipeline.server import app

    source = Path(app.__file__).read_text(encoding="utf-8")
    assert 'Route("/ready"' in source
    assert "127.0.0.1:5001/ready" in DOCKERFILE


def test_every_variable_of_the_compose_file_is_in_the_example():
    used = set(re.findall(r"\$\{(\w+)", FILES["compose.yaml"]))
    assert used == set(re.findall(r"^(\w+)=", FILES[".env.example"], flags=re.MULTILINE))


def test_services_secrets_and_volumes_are_declared():
    services = COMPOSE["services"]
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"])
        assert {volume.partition(":")[0] for volume in service.get("volumes", [])} <= set(COMPOSE["volumes"])
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))  # no other machine reaches it
    assert COMPOSE["secrets"]["tokens"]["file"] in init.content("x")[".gitignore"].splitlines()


@pytest.mark.slow
def test_the_tracking_server_has_the_options_of_the_compose_file():
    from mlflow.cli import server

    program, command, *words = shlex.split(COMPOSE["services"]["tracking"]["command"])
    assert (program, command) == ("mlflow", "server")
    known = {option for parameter in server.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_the_commands_of_the_workflow_and_of_the_readme_exist():
    steps = [step["run"] for step in WORKFLOW["jobs"]["repro"]["steps"] if "run" in step]
    assert steps == ["pip install -r requirements.txt", "dvc pull --allow-missing", "dvc repro"]
    blocks = re.findall(r"^```sh\n(.*?)^```", FILES["README.md"], flags=re.MULTILINE | re.DOTALL)
    lines = [line.partition(" #")[0].strip() for block in blocks for line in block.splitlines()]
    commands = [shlex.split(line) for line in lines if line.startswith("ldep ")]
    assert len(commands) >= 3
    for _, *arguments in commands:
        build_parser().parse_args(arguments)
