"""What compat/openml_client.py uses of the openml client. These tests fail first when the client changes."""

from __future__ import annotations

import inspect
import subprocess
import sys

import openml
import pytest
import requests

from ldep_pipeline.compat import openml_client
from tests.support.openml_files import point_client_at


@pytest.mark.parametrize("setting", ["environment", "settings file"])
def test_the_cache_directory_is_the_clients_own(project, tmp_path, monkeypatch, setting):
    if setting == "settings file":
        monkeypatch.delenv("OPENML_CACHE_DIR")
        point_client_at(tmp_path, "https://example.org")
        with (tmp_path / "config/openml/config").open("a") as settings:
            settings.write(f"cachedir = {tmp_path / 'elsewhere'}\n")
    code = "import openml; print(openml.config.get_cache_directory())"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert str(openml_client.cache_directory()) == answer
    assert str(tmp_path) in answer


def test_the_server_is_the_clients_own(project, tmp_path):
    point_client_at(tmp_path, "https://example.org")
    code = "import openml; print(openml.config.server)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert openml_client.server() == answer == "https://example.org/api/v1/xml"


def test_a_session_of_the_client_takes_the_default_timeout_of_requests():
    """The client creates a plain `requests.Session` per request and passes no timeout: then ours applies."""
    source = inspect.getsource(sys.modules["openml._api_calls"])
    assert "requests.Session()" in source
    assert "timeout=" not in source, "the client sets timeouts now: remove the patch and use its setting"


def test_every_request_gets_the_timeout(monkeypatch):
    sent = {}

    class Response:
        status_code, content = 200, b""

    def request(self, method, url, **options):
        sent.update(options, url=url)
        return Response()

    monkeypatch.setattr(requests.Session, "request", request)
    last = openml_client.set_timeout(1.5)
    requests.Session().get("http://127.0.0.1:9/x")
    assert sent["timeout"] == 1.5
    assert (last.url, last.status) == ("http://127.0.0.1:9/x", 200)


def test_the_client_has_what_the_download_calls():
    parameters = inspect.signature(openml.datasets.get_dataset).parameters
    assert {"download_data", "download_qualities", "download_features_meta_data"} <= set(parameters)
    assert list(inspect.signature(openml.config.set_retry_policy).parameters) == ["value", "n_retries"]
