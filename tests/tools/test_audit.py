"""The audit of the locks, against an index on this machine."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tools import audit
from tools.locks import ALL_LOCKS, pins

VULNERABILITY = {"id": "GHSA-1", "aliases": ["CVE-1"], "fixed_in": ["2.0"], "withdrawn": None}
ANSWERS = {
    "/good/1.0/json": ("1.0", []),
    "/bad/1.0/json": (
        "1.0",
        [VULNERABILITY, {**VULNERABILITY, "id": "PYSEC-1", "aliases": [], "withdrawn": "2026-01-01"}],
    ),
    "/accepted/1.0/json": ("1.0", [{**VULNERABILITY, "aliases": ["CVE-2"], "fixed_in": []}]),
    "/newest/json": ("3.0", [VULNERABILITY]),
    "/behind/json": ("4.0", []),
    "/busy/1.0/json": 429,
    "/down/1.0/json": 503,
}


@pytest.fixture
def index():
    class Index(BaseHTTPRequestHandler):
        def do_GET(self):
            answer = ANSWERS.get(self.path)
            self.send_response(answer if isinstance(answer, int) else 200 if answer else 404)
            self.end_headers()
            if isinstance(answer, tuple):
                self.wfile.write(json.dumps({"info": {"version": answer[0]}, "vulnerabilities": answer[1]}).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_findings_are_vulnerable_accepted_or_unanswered(index, monkeypatch):
    monkeypatch.setattr(audit, "REASONS", {"CVE-2": "it is not reached"})
    marked = "bad[extra]==1.0 ; python_version < '4'"
    findings = audit.audit(["good==1.0", marked, "accepted==1.0", "newest==3.0", "behind==3.0", "none==1"], index)
    assert findings.vulnerable == [
        f"{marked}: CVE-1, GHSA-1, fixed in 2.0.",
        "newest==3.0: CVE-1, GHSA-1, fixed in 2.0.",
    ]
    assert findings.accepted == ["accepted==1.0: CVE-2, GHSA-1, fixed in no release; accepted: it is not reached."]
    assert findings.unanswered == ["behind==3.0", "none==1"]


def test_an_index_that_cannot_be_reached_is_an_error():
    with pytest.raises(audit.AuditError, match="the audit needs PyPI"):
        audit.audit(["good==1.0"], "http://127.0.0.1:9")


@pytest.mark.parametrize(("pin", "status"), [("busy==1.0", 429), ("down==1.0", 503)])
def test_an_index_that_is_busy_is_an_error(index, pin, status):
    with pytest.raises(audit.AuditError, match=f"answers with status {status}; try again later"):
        audit.audit([pin], index)


def test_every_lock_has_pins():
    assert all(pins(lock.read_text()) for lock in ALL_LOCKS)
