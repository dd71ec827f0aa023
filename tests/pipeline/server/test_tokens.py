"""Bearer tokens: what a file may have, who is let in, and a file that changes while the server runs."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from ldep_pipeline.commands import token
from ldep_pipeline.commands.main import main
from ldep_pipeline.common.errors import UserError
from ldep_pipeline.server import tokens
from ldep_pipeline.server.tokens import Tokens

HASH = "0" * 64


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens.txt"


def holder(known: Tokens, secret: str) -> str | None:
    return known.holder(f"Bearer {secret}")


def test_a_token_lets_its_holder_in_and_the_file_has_its_hash_alone(file):
    phone, web = token.run("phone", file), token.run("web", file)
    known = Tokens(file)
    assert (holder(known, phone), holder(known, web)) == ("phone", "web")
    assert known.holder(f"bearer  {phone}") == "phone"  # the scheme has no case, RFC 9110
    assert phone not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


def test_nothing_else_lets_anybody_in(file):
    secret = token.run("phone", file)
    known = Tokens(file)
    headers = [None, "", "Bearer", "Bearer ", secret, f"Basic {secret}", f"Bearer {secret[:-1]}", f"Bearer {secret}x"]
    headers += [f"Bearer {secret} {secret}", f"Bearer {secret.lower()}", "Bearer \udcff", "Bearer " + "x" * 10**6]
    headers += [f"Bearer {line}" for line in file.read_text().split()]
    assert [known.holder(header) for header in headers] == [None] * len(headers)


def test_a_token_is_valid_until_the_end_of_its_last_day(file):
    today = datetime.now(UTC).date()
    secrets = {}
    for name, last_day in (("past", today - timedelta(days=1)), ("today", today), ("future", date(2999, 1, 1))):
        secrets[name] = token.run(name, file, last_day)
    known = Tokens(file)
    assert [holder(known, secret) for secret in secrets.values()] == [None, "today", "future"]


def test_a_file_that_changes_is_read_again(file, caplog):
    old, new = token.run("old", file), token.run("new", file)
    known = Tokens(file)
    both = file.read_text()
    file.write_text(both.splitlines(keepends=True)[1])
    assert (holder(known, old), holder(known, new)) == (None, "new")
    file.write_text(both[:40])  # half-written
    assert (holder(known, old), holder(known, new)) == (None, "new")
    assert "this file of tokens is not taken up" in caplog.text
    file.write_text(both)
    assert (holder(known, old), holder(known, new)) == ("old", "new")
    file.chmod(0o644)
    assert holder(known, new) == "new"
    assert "chmod 600" in caplog.text
    file.unlink()
    assert (holder(known, old), holder(known, new)) == (None, None)
    assert old not in caplog.text
    assert new not in caplog.text


def test_a_process_that_starts_while_the_file_is_wrong_lets_nobody_in_until_it_is_right(file, caplog):
    """A worker that dies is replaced at any time; one that cannot start would be replaced for ever."""
    secret, (job, kept) = token.run("phone", file), tokens.new("job")
    right = file.read_text()
    file.write_text(right[:40])
    known = Tokens(file, [kept])
    assert (holder(known, secret), holder(known, job)) == (None, "job")
    assert "line 1: this is not a name" in caplog.text
    file.write_text(right)
    assert (holder(known, secret), holder(known, job)) == ("phone", "job")
    file.unlink()
    known = Tokens(file)
    assert holder(known, secret) is None
    file.touch(0o600)
    file.write_text(right)
    assert holder(known, secret) == "phone"


def test_the_environment_has_tokens_too(file, monkeypatch):
    secret, kept = tokens.new("job")
    other = token.run("phone", file)
    monkeypatch.setenv(tokens.VARIABLE, f"# ours, {kept.line()}")
    known = Tokens(file, tokens.from_environment())
    assert (holder(known, secret), holder(known, other)) == ("job", "phone")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("phone hunter2", "line 1: this is not a name, sha256: with 64 hexadecimal digits"),
        (f"phone sha256:{HASH}x", "line 1: this is not a name"),
        (f"\n# x\nph/one sha256:{HASH}", "line 3: this is not a name"),
        (f"a sha256:{HASH}\na sha256:{HASH}", "line 2: the name 'a' appears twice"),
        (f"a sha256:{HASH} tomorrow", "line 1: the last day must be a date, such as 2027-01-31"),
        ("\xff", "line 1"),
    ],
)
def test_a_line_that_is_wrong_is_named_and_not_repeated(file, content, message):
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(UserError, match=message) as caught:
        tokens.from_file(file)
    assert "hunter2" not in str(caught.value)


def test_a_file_that_others_can_read_is_refused(file):
    token.run("phone", file)
    for mode in (0o640, 0o604, 0o620):
        file.chmod(mode)
        with pytest.raises(UserError, match=f"close it with `chmod 600 {file}`"):
            tokens.from_file(file)


def test_a_file_that_is_none_is_one_sentence(tmp_path, file):
    with pytest.raises(UserError, match=r"cannot be read: no such file or directory; `ldep token` makes one\."):
        tokens.from_file(file)
    with pytest.raises(UserError, match="cannot be read: is a directory"):
        tokens.from_file(tmp_path)
    file.write_bytes(b"\xff\xfe")
    file.chmod(0o600)
    with pytest.raises(UserError, match="not UTF-8"):
        tokens.from_file(file)


def test_the_command_prints_the_token_and_refuses_a_name_that_is_taken(file, capsys):
    assert main(["token", "phone", str(file), "--expires", "2999-12-31"]) == 0
    printed = capsys.readouterr()
    assert holder(Tokens(file), printed.out.strip()) == "phone"
    assert file.read_text().endswith(" 2999-12-31\n")
    before = file.read_text()
    assert main(["token", "phone", str(file)]) == 1
    assert main(["token", "a b", str(file)]) == 1
    assert main(["token", "other", str(file.parent)]) == 1
    with pytest.raises(SystemExit):
        main(["token", "other", str(file), "--expires", "2020-01-01"])
    assert file.read_text() == before
