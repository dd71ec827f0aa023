"""The scripts of `ldep completion`, in the shells that read them."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from ldep_pipeline.commands.completion import SHELLS, script
from ldep_pipeline.commands.main import OTHER_COMMANDS, STAGES, build_parser, main

COMMANDS = [command.name for command in (*STAGES, *OTHER_COMMANDS)]
PATIENCE = 30  # seconds for a shell to answer, on a machine with other work


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, parser = tmp_path_factory.mktemp("scripts"), build_parser(complete=True)
    paths = {shell: folder / f"ldep.{shell}" for shell in SHELLS}
    for shell, path in paths.items():
        path.write_text(script(parser, shell))
    return paths


def offered(path: Path, line: str, folder: Path) -> set[str]:
    """What bash offers for the last word of a line."""
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    ask = f"""
        source {path}
        COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}
        function=$(complete -p ldep | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        $function ldep {words[-1]!r} {words[-2]!r}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", ask], cwd=folder, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    return set(done.stdout.split())


def test_bash_offers_every_command(scripts, tmp_path):
    assert set(COMMANDS) <= offered(scripts["bash"], "ldep ", tmp_path)
    assert offered(scripts["bash"], "ldep insp", tmp_path) == {"inspect"}


def test_bash_offers_options_choices_and_files(scripts, tmp_path):
    (tmp_path / "customers.csv").touch()
    assert "--target" in offered(scripts["bash"], "ldep inspect --", tmp_path)
    assert {"quick", "standard", "full"} <= offered(scripts["bash"], "ldep new x x.csv --suite ", tmp_path)
    assert "customers.csv" in offered(scripts["bash"], "ldep inspect cust", tmp_path)
    assert set(SHELLS) <= offered(scripts["bash"], "ldep completion ", tmp_path)


def test_a_person_presses_tab_in_bash(scripts, tmp_path):
    """A real terminal: the word is completed, and Python does not run meanwhile, because there is no `ldep` here."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        os.environ |= {"PATH": "/usr/bin:/bin", "PS1": "ready> ", "TERM": "dumb", "INPUTRC": "/dev/null"}
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    try:
        os.write(terminal, f"source {scripts['bash']}; echo is-$((1+1))\n".encode())
        _until(terminal, b"is-2")
        os.write(terminal, b"ldep reloc\t")
        _until(terminal, b"ldep relocate")
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def _until(terminal: int, wanted: bytes) -> None:
    seen, end = b"", time.monotonic() + PATIENCE
    while wanted not in seen:
        assert time.monotonic() < end, seen
        if select.select([terminal], [], [], 1)[0]:
            seen += os.read(terminal, 4096)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_can_read_its_script(scripts, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", scripts[shell]], check=True, timeout=PATIENCE)


def test_the_command_prints_the_script(capsys):
    assert main(["completion", "bash"]) == 0
    assert "_shtab_ldep_subparsers" in capsys.readouterr().out


def test_another_shell_is_refused(capsys):
    with pytest.raises(SystemExit) as end:
        main(["completion", "cmd"])
    assert end.value.code == 2
    assert "invalid choice: 'cmd'" in capsys.readouterr().err
