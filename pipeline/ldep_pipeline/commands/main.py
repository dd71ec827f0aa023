"""The entry point of the command `ldep`: it parses the arguments, runs the command and reports errors."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import gc
import importlib
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from ldep_pipeline.common.errors import UserError, first_line
from ldep_pipeline.common.progress import of_one_step
from ldep_pipeline.common.startup import close_dvc_cache, end_with_dvc, use_common_kernels

# MLflow and scikit-learn create half a million objects that live until the end. With Python's defaults the garbage
# collector visits them after every 700 new objects, and again several times at exit: one CPU second per command.
gc.set_threshold(20_000, 10, 10)
atexit.register(gc.freeze)


class Command(NamedTuple):
    """A command and its module. `summary` completes the sentence "this command will ...", without a full stop."""

    name: str
    module: str
    summary: str


STAGES = (
    Command("check", "stages", "check params.yaml before any stage runs"),
    Command("fetch", "stages", "download the data sets from OpenML or a fallback source"),
    Command("impute", "stages", "encode nominal features and fill missing cells"),
    Command("split", "stages", "assign every row to a fold"),
    Command("train", "stages", "train, tune and track the models on every fold"),
    Command("register", "stages", "fit the best model of each data set on all its rows and register it in MLflow"),
    Command("report", "stages", "write the report: tables, statistical tests and figures"),
)
OTHER_COMMANDS = (
    Command("datasets", "datasets", "list the data sets and where each is available"),
    Command("inspect", "datasets", "look at a file of rows: columns, missing values, classes, and what looks wrong"),
    Command("init", "init", "make a folder a project: the files for DVC, git, a build server and a container"),
    Command("new", "new", "make a file a data set of params.yaml, with the models and the metric that suit it"),
    Command("set", "new", "change values in params.yaml, checked, with its comments kept"),
    Command("tune", "stages", "choose the settings of one model on all rows of a data set"),
    Command("score", "score", "score a file of raw rows with a registered model"),
    Command("serve", "serve", "serve the champion of a data set over HTTP, with a curl command to try it"),
    Command("token", "token", "make a token for clients of `ldep serve`"),
    Command("ui", "serve", "open MLflow's UI on the runs, grouped by data set; print its address"),
    Command("evaluate", "evaluate", "measure a registered model on what really happened, against what was promised"),
    Command(
        "verify",
        "verify",
        "prove that a registered ℓ-DEP keeps the promises of its data set, or show a row that breaks one",
    ),
    Command("diff", "diff", "show where two versions of a model differ, with proven largest differences"),
    Command("history", "history", "list what was registered, promoted and rolled back, when, by whom and why"),
    Command("rollback", "history", "make an earlier version of a registered model the champion again"),
    Command("keys", "keys", "show, rotate, revoke or trust the keys that sign registered models"),
    Command("export", "export", "write a registered ℓ-DEP as ONNX or as a C header"),
    Command("explore", "explore", "write a registered ℓ-DEP as a page to play with in a browser"),
    Command("upgrade", "upgrade", "tell what the installed version of ldep would compute again, and why"),
    Command("relocate", "project", "make the MLflow database of a moved or copied project use its own artifacts"),
    Command("publish", "project", "copy the report into a folder that can be committed"),
    Command("completion", "completion", "print a script with which bash, zsh or fish completes the arguments of ldep"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    end_with_dvc()
    use_common_kernels()
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    logging.getLogger("ldep_pipeline").setLevel(logging.INFO)
    if not sys.stderr.isatty():  # progress bars would fill a log file
        os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    args = argparse.Namespace()
    try:
        close_dvc_cache()
        build_parser().parse_args(argv, args)
        # Training and tuning show their own progress, and a server is silent while nobody asks.
        is_shown = args.command in ("train", "tune", "serve")
        with contextlib.nullcontext() if is_shown else of_one_step(f"ldep {args.command}"):
            code = args.action(args)
        sys.stdout.flush()
    except UserError as error:
        return _fail(args, str(error))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("", "ldep", "ldep_pipeline"):
            raise
        install = "pip install ldep-pipeline, or in a clone: pip install . ./pipeline"
        return _fail(args, f"the package '{error.name}' is missing. Install what the commands need: {install}.")
    except KeyboardInterrupt:
        return _fail(args, "interrupted. Every file that was written is complete.", code=130)
    except BrokenPipeError:  # `ldep datasets | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk, a folder without write permission
        return _fail(args, f"{first_line(error)}. Finished work is kept: fix this and run the command again.")
    return code or 0


class _LazyParser(argparse.ArgumentParser):
    """The parser of one command. It imports the command's module when the command is chosen.

    pandas, scikit-learn and MLflow take seconds to import, and `ldep --help` needs none of them.
    """

    def __init__(self, *, command: Command | None = None, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)
        self.command = command

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.add_command()
        return super().parse_known_args(args, namespace)

    def add_command(self) -> None:
        """Add the arguments of the command, if that is still to be done."""
        if self.command is None:
            return
        module = importlib.import_module(f"ldep_pipeline.commands.{self.command.module}")
        line = module.COMMANDS[self.command.name]
        line.add_arguments(self)
        self.epilog = f"example:\n  {line.example}"
        self.set_defaults(action=line.action)
        self.command = None


def build_parser(complete: bool = False) -> argparse.ArgumentParser:
    """Return the parser of all commands; `complete` adds the arguments of each, which imports all modules."""
    parser = _LazyParser(
        prog="ldep",
        usage="ldep [-h] COMMAND ...",
        description="Train, compare, register and serve classifiers on the data sets of params.yaml.\n\n"
        f"Stages of dvc.yaml, in the order in which `dvc repro` runs them:\n{_listing(STAGES)}\n\n"
        f"Other commands:\n{_listing(OTHER_COMMANDS)}",
        epilog="`ldep COMMAND --help` explains the arguments of a command and shows an example.",
    )
    # Our description lists the commands in two groups, which argparse cannot do.
    subparsers = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", prog="ldep", help="" if complete else argparse.SUPPRESS
    )
    for command in (*STAGES, *OTHER_COMMANDS):
        description = f"{command.summary[0].upper()}{command.summary[1:]}."
        added = subparsers.add_parser(command.name, command=command, description=description, help=command.summary)
        if complete:
            added.add_command()
    return parser


def _listing(commands: Sequence[Command]) -> str:
    return "\n".join(f"  {command.name:<11}{command.summary}" for command in commands)


def _fail(args: argparse.Namespace, message: str, code: int = 1) -> int:
    print(f"ldep {args.command}: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
