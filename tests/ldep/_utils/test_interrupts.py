"""Ctrl-C reaches the caller while compiled code runs."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from ldep._utils import interruptible


def test_the_result_and_the_error_of_the_function_are_passed_on():
    assert interruptible(divmod, 7, 3) == (2, 1)
    with pytest.raises(ZeroDivisionError):
        interruptible(divmod, 7, 0)


def test_outside_the_main_thread_the_function_is_called_directly():
    names = []

    def record():
        names.append(interruptible(threading.current_thread).name)

    thread = threading.Thread(target=record)
    thread.start()
    thread.join()
    assert names == [thread.name]


def test_an_interrupt_ends_a_call_that_would_never_return():
    """A thread that waits for ever stands for libsvm; the process must end long before the test's time limit."""
    code = """
import signal, threading
from ldep._utils._runtime import interruptible
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell ignores it
print("ready", flush=True)
interruptible(threading.Event().wait)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    os.kill(process.pid, signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=120)[1]
    assert process.returncode != 0
