"""Comparable fit times: CPU seconds of one process with one BLAS thread, the best of a few repetitions."""

from __future__ import annotations

import importlib
import multiprocessing
import resource
import signal
import time
import warnings

import numpy as np

from ldep.solvers import single_thread


def ended_children() -> float:
    """Return the CPU seconds of all child processes that have ended, including their own children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def fit(model, X: np.ndarray, y: np.ndarray, repeats: int = 1) -> tuple[object, float]:
    """Return the fitted model and the CPU seconds of its fastest fit."""
    best = np.inf
    with warnings.catch_warnings(), single_thread():
        warnings.simplefilter("ignore")
        for _ in range(repeats):
            start = time.process_time()
            model.fit(X, y)
            best = min(best, time.process_time() - start)
    return model, best


def fit_within(competitor: str, part, seconds: int) -> dict:
    """Fit a competitor in a process that is ended after `seconds` of CPU time; return its time and test accuracy."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(competitor, part, seconds, send))
    process.start()
    send.close()
    try:
        return receive.recv()
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            return {"status": f"not finished in {seconds} s"}
        return {"status": f"died with exit code {process.exitcode}"}
    finally:
        process.join()


def _child(competitor: str, part, seconds: int, send) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    try:
        model = importlib.import_module(f"benchmarks.competitors.{competitor}").make()
        model, seconds = fit(model, part.X, part.y)
        predicted = np.asarray(model.predict(part.X_test))
        send.send({"status": "ok", "seconds": seconds, "accuracy": float(np.mean(predicted == part.y_test))})
    except Exception as error:  # a competitor that fails is a result, too
        send.send({"status": f"{type(error).__name__}: {error}"[:200]})
