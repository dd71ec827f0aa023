"""`ldep init` makes a folder a project: the files that DVC, git, a build server and a container need.

They come from the folder project_files of the package, and are the user's from then on. What is there already stays as
it is.
"""

from __future__ import annotations

import shutil
import subprocess
from argparse import ArgumentParser, Namespace
from pathlib import Path

import ldep_pipeline
from ldep_pipeline.commands import CommandLine, run
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.common.files import write_text
from ldep_pipeline.common.startup import close_dvc_cache

TEMPLATES = Path(__file__).with_name("project_files")
# From a file of the package to its place in a project.
PLACES = {
    "params.yaml": "params.yaml",
    "stages.yaml": "dvc.yaml",  # under its own name, DVC would take it for stages of this repository
    "requirements.txt": "requirements.txt",
    "README.md": "README.md",
    "own_data.md": "data/own/README.md",
    "gitignore": ".gitignore",
    "dvcignore": ".dvcignore",
    "workflow.yml": ".github/workflows/repro.yml",
    "Dockerfile": "Dockerfile",
    "compose.yaml": "compose.yaml",
    "env.example": ".env.example",
}
MERGED_BY_LINE = (".gitignore", ".dvcignore")  # of these, the user adds what is missing
# DVC unpickles what lies in its cache of the site. By default it is one folder of the machine, open to every user.
DVC_CONFIG = "[core]\n    analytics = false\n    check_update = false\n    site_cache_dir = .ldep/dvc\n"


def add_init(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", type=Path, default=Path(), help="the project (default: this folder)"
    )


def init(args: Namespace) -> None:
    """Write what is missing, and say what was written, what was there, and what to do next."""
    folder: Path = args.folder
    for place in (folder, *(folder / name for name in PLACES.values())):
        _check_place(place, is_folder=place == folder)
    files = content(folder.resolve().name)
    present = [name for name in files if (folder / name).exists()]
    written = [name for name in files if name not in present]
    for name in written:
        write_text(folder / name, files[name])
    has_git = _make_repository(folder)
    _start_dvc(folder, has_git)
    close_dvc_cache(folder)  # before a command of DVC makes it
    print(f"{folder.resolve()} is a project now." if written else f"{folder.resolve()} is a project already.")
    if written:
        print(f"  new: {', '.join(written)}")
    for name in present:
        if advice := _difference(folder / name, files[name]):
            print(f"  {name} is left as it is: {advice}")
    if not has_git:
        print("  git is not installed: the project works without it, but nothing keeps its history.")
    where = "" if folder.resolve() == Path.cwd() else f"cd {folder}, then "
    print(f"Next: {where}ldep new NAME FILE --target COLUMN, which adds a file as a data set; then dvc repro.")


def content(name: str) -> dict[str, str]:
    """The files of a project of this name, by their place."""
    values = {"{version}": ldep_pipeline.__version__, "{name}": name}
    found = {}
    for template, place in PLACES.items():
        text = (TEMPLATES / template).read_text(encoding="utf-8")
        if template in ("requirements.txt", "README.md"):
            for key, value in values.items():
                text = text.replace(key, value)
        found[place] = text
    return found


def _check_place(place: Path, *, is_folder: bool) -> None:
    """UserError if something else is where a file or the folder is to be: nothing is written then."""
    if is_folder and place.exists() and not place.is_dir():
        raise UserError(f"{place} is a file; name a folder, or one that does not exist yet.")
    if not is_folder and place.is_dir():
        raise UserError(f"{place} is a folder, and the project needs a file of this name; rename it.")
    for parent in place.parents:
        if parent.exists() and not parent.is_dir():
            raise UserError(f"{parent} is a file, so {place} cannot be written; rename it, or choose another folder.")


def _difference(path: Path, template: str) -> str:
    """What to do about a file that was there already; empty if it has all that a project needs."""
    present = path.read_text(encoding="utf-8", errors="replace")
    name = path.name
    if name in MERGED_BY_LINE:
        lines = {line.strip() for line in present.splitlines()}
        missing = [line for line in template.splitlines() if line not in lines and not line.startswith("#")]
        return f"add these lines to it: {'  '.join(missing)}" if missing else ""
    if present == template or name not in ("dvc.yaml", "params.yaml"):
        return ""
    source = TEMPLATES / name
    what = "the stages" if name == "dvc.yaml" else "the keys datasets and own_data"
    return f"it needs {what} of {source}" if not _has_them(name, present) else ""


def _has_them(name: str, present: str) -> bool:
    words = ("cmd: ldep check",) if name == "dvc.yaml" else ("datasets:", "own_data:")
    return all(word in present for word in words)


def _make_repository(folder: Path) -> bool:
    """`git init`, unless the folder is in a repository; whether git is there."""
    if shutil.which("git") is None:
        return False
    inside = subprocess.run(
        ["git", "rev-parse", "--is-inside-work-tree"], cwd=folder, capture_output=True, text=True, check=False
    )
    if inside.stdout.strip() != "true":
        run(["git", "init", "--quiet"], folder)
    return True


def _start_dvc(folder: Path, has_git: bool) -> None:
    """`dvc init`, unless the folder has a DVC repository."""
    if (folder / ".dvc").is_dir():
        return
    options = ["--subdir"] if has_git and not (folder / ".git").exists() else []
    run(["dvc", "init", "--quiet", *(options if has_git else ["--no-scm"])], folder)
    config = folder / ".dvc/config"
    rest = config.read_text(encoding="utf-8").removeprefix("[core]\n")
    write_text(config, f"{DVC_CONFIG}{rest}")


COMMANDS = {"init": CommandLine(add_init, init, "ldep init churn && cd churn")}
