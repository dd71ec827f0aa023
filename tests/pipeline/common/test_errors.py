"""The words of others in ours."""

from __future__ import annotations

import socket

import pytest

from ldep_pipeline.common.errors import UserError, first_line
from ldep_pipeline.tracking import connection


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("API request to http://ann:s3cret@host/api failed.", "API request to http://ann:***@host/api failed"),
        ("postgresql://ann:p@ss@host/db and http://bob:x@h", "postgresql://ann:***@host/db and http://bob:***@h"),
        ("http://s3cret@host/api and https://t0ken@h", "http://***@host/api and https://***@h"),
        ("http://host/api?access_token=s3cret&page=2", "http://host/api?access_token=***&page=2"),
        ("http://host/?a=1&access_tokenn=s3cret and more", "http://host/?a=1&access_tokenn=*** and more"),
        ("s3://b/x?X-Amz-Signature=ab12&Api_Key=c;pwd=d", "s3://b/x?X-Amz-Signature=***&Api_Key=***;pwd=***"),
        ("http://host:5000/a@b is no address of anyone", "http://host:5000/a@b is no address of anyone"),
        ("\nthe first line.\nand more", "the first line"),
        ("x" * 1000, "x" * 300),
        (f"{'x' * 280} http://ann:s3cret-and-long@host", f"{'x' * 280} http://ann:***@host"),
        ("", "OSError"),
        (" \n", "OSError"),
        (".", "OSError"),
    ],
)
def test_the_first_line_of_an_error(said, shown):
    assert first_line(OSError(said)) == shown


def test_the_password_of_the_tracking_server_is_not_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://ann:s3cret@127.0.0.1:{port}")
        with pytest.raises(UserError, match=rf"http://ann:\*\*\*@127\.0\.0\.1:{port} cannot be used") as refused:
            connection.connect("suite", tmp_path)
    assert "s3cret" not in str(refused.value)
