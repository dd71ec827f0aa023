"""The audit of the lock, against an index on this machine: found, explained, and not answered are three things."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pipeline.common.errors import UserError
from tools import audit

HOLE = {"id": "GHSA-1", "aliases": ["CVE-1"], "fixed_in": ["2.0"], "withdrawn": None}
ANSWERS = {
    "/good/1.0/json": ("1.0", []),
    "/bad/1.0/json": ("1.0", [HOLE, {**HOLE, "id": "PYSEC-1", "aliases": [], "withdrawn": "2026-01-01"}]),
    "/kept/1.0/json": ("1.0", [{**HOLE, "aliases": ["CVE-2"], "fixed_in": []}]),
    "/newest/json": ("3.0", [HOLE]),
    "/behind/json": ("4.0", []),
    "/busy/1.0/json": 429,
    "/down/1.0/json": 503,
}


@pytest.fixture
def index():
    class Index(BaseHTTPRequestHandler):
        def do_GET(self):
            found = ANSWERS.get(self.path)
            self.send_response(found if isinstance(found, int) else 200 if found else 404)
            self.end_headers()
            if isinstance(found, tuple):
                self.wfile.write(json.dumps({"info": {"version": found[0]}, "vulnerabilities": found[1]}).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_what_is_known_explained_and_not_said(index, monkeypatch):
    monkeypatch.setattr(audit, "REASONS", {"CVE-2": "it is not reached"})
    wanted = [
        "good==1.0",
        "bad[extra]==1.0 ; python_version < '4'",
        "kept==1.0",
        "newest==3.0",
        "behind==3.0",
        "none==1",
    ]
    bad, explained, silent = audit.audit(wanted, index)
    assert bad == [
        "bad[extra]==1.0 ; python_version < '4': CVE-1, GHSA-1, fixed in 2.0.",
        "newest==3.0: CVE-1, GHSA-1, fixed in 2.0.",
    ]
    assert explained == ["kept==1.0: CVE-2, GHSA-1, fixed in no release: it is not reached."]
    assert silent == ["behind==3.0", "none==1"]


def test_without_an_index_it_says_so():
    with pytest.raises(UserError, match="the audit needs PyPI"):
        audit.audit(["good==1.0"], "http://127.0.0.1:9")


@pytest.mark.parametrize(("pin", "status"), [("busy==1.0", 429), ("down==1.0", 503)])
def test_an_index_that_is_busy_is_said(index, pin, status):
    with pytest.raises(UserError, match=f"answers with status {status}; try again later"):
        audit.audit([pin], index)


def test_both_locks_are_read():
    assert all(audit.pins(lock.read_text()) for lock in audit.LOCKS)
