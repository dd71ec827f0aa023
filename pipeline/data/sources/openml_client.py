"""The openml client in a process of its own: `python -m pipeline.data.sources.openml_client ID`.

The client sets no timeout, deletes its cache folder when a download fails, and keeps its settings in module globals.
Here it can do all that: the caller points OPENML_CACHE_DIR at a scratch folder, and ends this process if it never
returns. It prints `ready` when the client has been imported, and what happened as one line of JSON.
"""

from __future__ import annotations

import argparse
import errno
import json
import socket
import time
from typing import Any


class _Failure(Exception):
    """kind: `unreachable` (no use asking now) or `refused` (asked and answered); again: worth another try."""

    def __init__(self, kind: str, message: str, again: bool) -> None:
        super().__init__(message)
        self.kind, self.again = kind, again


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("id", type=int)
    parser.add_argument("--timeout", type=float, required=True)
    parser.add_argument("--retries", type=int, required=True)
    args = parser.parse_args()
    import openml  # noqa: F401

    print("ready", flush=True)
    print(json.dumps(download(args.id, args.timeout, args.retries)))


def download(dataset_id: int, timeout: float, retries: int) -> dict[str, Any]:
    last = _watch_requests(timeout)
    for attempt in range(retries + 1):
        try:
            return {"kind": "ok", "path": _get(dataset_id, timeout, last)}
        except _Failure as failure:
            if attempt == retries or not failure.again:
                tries = f" ({attempt + 1} tries)" if attempt else ""
                return {"kind": failure.kind, "message": f"{failure}{tries}"}
        time.sleep(2.0**attempt)
    raise AssertionError("unreachable: the last attempt returns")


def _watch_requests(timeout: float) -> dict[str, Any]:
    """Give every request a timeout, and note the last address and status: the client's errors drop them."""
    import requests

    last: dict[str, Any] = {"url": "OpenML", "status": None}
    original = requests.Session.request

    def request(self: Any, method: str, url: str, *args: Any, **options: Any) -> Any:
        last.update(url=url, status=None)
        options.setdefault("timeout", timeout)
        # The headers alone first, so that a body that breaks off leaves its status behind.
        response = original(self, method, url, *args, **{**options, "stream": True})
        last["status"] = response.status_code
        _ = response.content
        return response

    setattr(requests.Session, "request", request)  # noqa: B010, mypy refuses the plain assignment
    return last


def _get(dataset_id: int, timeout: float, last: dict[str, Any]) -> str:
    import openml
    import requests
    import urllib3
    from openml.exceptions import OpenMLHashException, OpenMLServerException, OpenMLServerNoResult

    openml.config.set_retry_policy("human", 1)  # the retries are ours: the client also repeats what hangs
    last.update(url=openml.config.server, status=None)
    try:
        dataset = openml.datasets.get_dataset(
            dataset_id, download_data=True, download_qualities=False, download_features_meta_data=False
        )
        return str(dataset.data_file)
    except OpenMLServerNoResult as error:
        raise _Failure("refused", f"OpenML knows no data set {dataset_id}: {error.message}", False) from None
    except OpenMLServerException as error:
        raise _Failure("refused", f"OpenML answered: {error.message} (code {error.code})", False) from None
    except OpenMLHashException:
        message = f"the checksum of {last['url']} is not the one that OpenML declares"
        raise _Failure("refused", message, True) from None
    except requests.RequestException as error:
        hung = isinstance(error, requests.Timeout) or any(
            isinstance(cause, urllib3.exceptions.ReadTimeoutError) for cause in error.args
        )
        if hung:
            raise _Failure("unreachable", f"{last['url']} sent nothing for {timeout:g} s", False) from None
        if last["status"] is not None:
            raise _Failure("unreachable", f"the answer of {last['url']} broke off", True) from None
        cause = _cause(error)
        # A machine without a network says so at once, each time: asking again only costs the newcomer's time.
        again = not isinstance(cause, socket.gaierror) and cause.errno not in (errno.ENETUNREACH, errno.EHOSTUNREACH)
        message = f"no connection to {last['url']} ({cause.strerror or cause})"
        raise _Failure("unreachable", message, again) from None
    except Exception as error:
        # OpenMLServerError, and what the client lets through when an answer is not OpenML's XML (KeyError, ...).
        status = last["status"]
        if status is not None and (status >= 500 or status == 429):
            raise _Failure("unreachable", f"{last['url']} answered with status {status}", True) from None
        if status is not None and status != 200:
            raise _Failure("refused", f"{last['url']} answered with status {status}", False) from None
        message = f"{last['url']} answered with something that is not OpenML's ({type(error).__name__}: {error})"
        raise _Failure("refused", message[:500], False) from None


def _cause(error: BaseException) -> OSError:
    """The operating system's own error, below four layers of wrapping: 'Connection refused'."""
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, OSError) and below.errno is not None:
            return below
        reason = getattr(below, "reason", None) or next(iter(below.args), None)
        below = reason if isinstance(reason, BaseException) else below.__cause__ or below.__context__
    return OSError(str(error))


if __name__ == "__main__":
    main()
