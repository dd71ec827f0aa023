"""The entry point of the command `ldep`: it parses the arguments, runs the subcommand and reports errors."""

from __future__ import annotations

import argparse
import atexit
import gc
import logging
import os
import sys
from collections.abc import Sequence

from pipeline.commands.subcommands import OTHER_COMMANDS, STAGES, Command
from pipeline.common.errors import UserError, first_line
from pipeline.common.kernels import use_common_kernels
from pipeline.common.parent import end_with_dvc

# MLflow and scikit-learn create half a million objects that live until the end. With Python's defaults the garbage
# collector visits them after every 700 new objects, and again several times at exit: one CPU second per command.
gc.set_threshold(20_000, 10, 10)
atexit.register(gc.freeze)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; return the exit code."""
    end_with_dvc()
    use_common_kernels()
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    logging.getLogger("pipeline").setLevel(logging.INFO)
    if not sys.stderr.isatty():  # progress bars would fill a log file
        os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    args = build_parser().parse_args(argv)
    code = 0
    try:
        code = args.run(args)
        sys.stdout.flush()
    except UserError as error:
        return _fail(args.command, str(error))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("", "ldep", "pipeline"):
            raise
        install = "pip install 'ldep[pipeline]', or in a clone: pip install '.[pipeline]'"
        return _fail(
            args.command, f"the package '{error.name}' is missing. The commands need the extra `pipeline`: {install}."
        )
    except KeyboardInterrupt:
        return _fail(args.command, "interrupted. Every file that was written is complete.", code=130)
    except BrokenPipeError:  # `ldep datasets | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:  # a full disk, a folder without write permission
        return _fail(args.command, f"{first_line(error)}. Finished work is kept: fix this and run the command again.")
    return code or 0


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all subcommands."""
    parser = argparse.ArgumentParser(
        prog="ldep",
        usage="ldep [-h] COMMAND ...",
        description="Train, compare, register and serve classifiers on the data sets of params.yaml.\n\n"
        f"Stages of dvc.yaml, in the order in which `dvc repro` runs them:\n{_listing(STAGES)}\n\n"
        f"Other commands:\n{_listing(OTHER_COMMANDS)}",
        epilog="`ldep COMMAND --help` explains the arguments of a command and shows an example.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # Our description lists the commands in two groups, which argparse cannot do.
    subparsers = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", prog="ldep", help=argparse.SUPPRESS
    )
    for command in (*STAGES, *OTHER_COMMANDS):
        subparser = subparsers.add_parser(
            command.name,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            epilog=f"example:\n  {command.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        for add_arguments in command.arguments:
            add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def _listing(commands: Sequence[Command]) -> str:
    return "\n".join(f"  {command.name:<10}{command.summary}" for command in commands)


def _fail(command: str, message: str, code: int = 1) -> int:
    print(f"ldep {command}: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
