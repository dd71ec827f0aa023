"""The openml client where its public interface does not reach. Written for openml 0.15.1.

- `cache_directory` and `server` ask `openml/config.py`, executed without its package: importing the package also
  imports scikit-learn and takes two to four seconds. A cached data set does not need it, nor does a machine without a
  network.
- The client sends its requests without a timeout (https://github.com/openml/openml-python/pull/1651), creates its own
  `requests.Session` for each, and has no setting for either. So `requests.Session.request` gets a default timeout here.
  `socket.setdefaulttimeout` does not help: requests passes `timeout=None`, which means "none", to the socket.
- The client deletes its cache folder when a download fails, and keeps its settings in module globals.

Downloads therefore run in a process of their own, `python -m ldep_pipeline.compat.openml_client ID`. The caller sets
OPENML_CACHE_DIR to a scratch folder, and ends the process if it never returns. The process prints `ready` when the
client has been imported, and then the result as one line of JSON. tests/pipeline/compat/test_openml_client.py fails
when the client changes in what is used here.
"""

from __future__ import annotations

import argparse
import errno
import importlib.util
import json
import os
import socket
import time
from pathlib import Path
from typing import Any

from ldep_pipeline.common.errors import UserError

READY = "ready"


def cache_directory() -> Path:
    """Return the client's cache folder for its server: the client's own answer, so its settings apply."""
    return Path(_settings().get_cache_directory())


def server() -> str:
    """Return the address of the client's server, from the client's own settings."""
    return str(_settings().server)


def _settings() -> Any:
    package = importlib.util.find_spec("openml")
    if package is None or package.origin is None:
        raise UserError("the openml package is not installed; `make setup` installs it.")
    spec = importlib.util.spec_from_file_location("openml_config_alone", Path(package.origin).with_name("config.py"))
    assert spec is not None
    assert spec.loader is not None
    config = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(config)
    except OSError as error:
        folder = os.environ.get("OPENML_CACHE_DIR", "its default folder")
        raise UserError(f"the cache of the openml client ({folder}) cannot be used: {error}.") from None
    return config


class DownloadFailure(Exception):
    """kind: `unreachable` (OpenML cannot be asked now) or `refused` (it answered); again: worth another try."""

    def __init__(self, kind: str, message: str, again: bool) -> None:
        super().__init__(message)
        self.kind, self.again = kind, again


class LastRequest:
    """The address and status of the last request: the client's errors do not carry them."""

    def __init__(self) -> None:
        self.url = "OpenML"
        self.status: int | None = None

    def started(self, url: str) -> None:
        self.url, self.status = url, None


def main() -> None:
    parser = argparse.ArgumentParser(description="Download one data set with the openml client.")
    parser.add_argument("id", type=int)
    parser.add_argument("--timeout", type=float, required=True)
    parser.add_argument("--retries", type=int, required=True)
    args = parser.parse_args()
    import openml  # noqa: F401

    print(READY, flush=True)
    print(json.dumps(download(args.id, args.timeout, args.retries)))


def download(dataset_id: int, timeout: float, retries: int) -> dict[str, Any]:
    """Return {"kind": "ok", "path": ...}, or the kind and message of the failure."""
    last = set_timeout(timeout)
    for attempt in range(retries + 1):
        try:
            return {"kind": "ok", "path": _get(dataset_id, timeout, last)}
        except DownloadFailure as failure:
            if attempt == retries or not failure.again:
                tries = f" ({attempt + 1} tries)" if attempt else ""
                return {"kind": failure.kind, "message": f"{failure}{tries}"}
        time.sleep(2.0**attempt)
    raise AssertionError("the last attempt returns")


def set_timeout(timeout: float) -> LastRequest:
    """Give every request of this process a timeout, and return the record of the last one."""
    import requests

    last = LastRequest()
    original = requests.Session.request

    def request(self: Any, method: str, url: str, *args: Any, **options: Any) -> Any:
        last.started(url)
        options.setdefault("timeout", timeout)
        # The headers alone first, so that a body that breaks off leaves its status behind.
        response = original(self, method, url, *args, **{**options, "stream": True})
        last.status = response.status_code
        _ = response.content
        return response

    setattr(requests.Session, "request", request)  # noqa: B010, mypy refuses the plain assignment
    return last


def _get(dataset_id: int, timeout: float, last: LastRequest) -> str:
    import openml
    import requests
    from openml.exceptions import OpenMLHashException, OpenMLServerException, OpenMLServerNoResult

    openml.config.set_retry_policy("human", 1)  # the retries are ours: the client also repeats what hangs
    last.started(openml.config.server)
    try:
        dataset = openml.datasets.get_dataset(
            dataset_id, download_data=True, download_qualities=False, download_features_meta_data=False
        )
        return str(dataset.data_file)
    except OpenMLServerNoResult as error:
        raise DownloadFailure("refused", f"OpenML knows no data set {dataset_id}: {error.message}", False) from None
    except OpenMLServerException as error:
        raise DownloadFailure("refused", f"OpenML answered: {error.message} (code {error.code})", False) from None
    except OpenMLHashException:
        message = f"the checksum of {last.url} is not the one that OpenML declares"
        raise DownloadFailure("refused", message, True) from None
    except requests.RequestException as error:
        raise _network_failure(error, timeout, last) from None
    except Exception as error:
        # OpenMLServerError, and what the client lets through when an answer is not OpenML's XML (KeyError, ...).
        raise _unusable_answer(error, last) from None


def _network_failure(error: Exception, timeout: float, last: LastRequest) -> DownloadFailure:
    import requests
    import urllib3

    read_timeout = any(isinstance(cause, urllib3.exceptions.ReadTimeoutError) for cause in error.args)
    if read_timeout or isinstance(error, requests.Timeout):
        return DownloadFailure("unreachable", f"{last.url} sent nothing for {timeout:g} s", False)
    if last.status is not None:
        return DownloadFailure("unreachable", f"the answer of {last.url} broke off", True)
    cause = _cause(error)
    # A machine without a network fails immediately, every time: asking again only costs the newcomer's time.
    again = not isinstance(cause, socket.gaierror) and cause.errno not in (errno.ENETUNREACH, errno.EHOSTUNREACH)
    return DownloadFailure("unreachable", f"no connection to {last.url} ({cause.strerror or cause})", again)


def _unusable_answer(error: Exception, last: LastRequest) -> DownloadFailure:
    if last.status is not None and (last.status >= 500 or last.status == 429):
        return DownloadFailure("unreachable", f"{last.url} answered with status {last.status}", True)
    if last.status is not None and last.status != 200:
        return DownloadFailure("refused", f"{last.url} answered with status {last.status}", False)
    message = f"{last.url} answered with something that is not OpenML's ({type(error).__name__}: {error})"
    return DownloadFailure("refused", message[:500], False)


def _cause(error: BaseException) -> OSError:
    """Return the operating system's error below four layers of wrapping: 'Connection refused'."""
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, OSError) and below.errno is not None:
            return below
        reason = getattr(below, "reason", None) or next(iter(below.args), None)
        below = reason if isinstance(reason, BaseException) else below.__cause__ or below.__context__
    return OSError(str(error))


if __name__ == "__main__":
    main()
