"""The keys that sign registered models: who may read them, and what the commands do to the file of trusted keys."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ldep_pipeline.common.errors import UserError
from ldep_pipeline.registry import keys
from ldep_pipeline.registry.keys import TrustedKeys

TRUSTED = Path("trusted-keys.json")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv(keys.VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)


def states() -> dict[str, str]:
    return {key.id: key.state for key in TrustedKeys.read().by_id.values()}


def test_the_first_signature_makes_a_key_for_its_owner_alone_and_trusts_it():
    key = keys.signing_key()
    assert Path(".ldep/signing.key").stat().st_mode & 0o777 == 0o600
    assert states() == {key.id: "active"}
    assert keys.signing_key().id == key.id
    signature = key.sign(b"message")
    trusted = TrustedKeys.read().by_id[key.id]
    assert trusted.verifies(b"message", signature)
    assert not trusted.verifies(b"Message", signature)
    assert not trusted.verifies(b"message", signature[:-1])
    assert "PRIVATE" not in TRUSTED.read_text()


def test_processes_that_begin_at_once_use_one_key():
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: keys.signing_key().id, range(8)))
    assert len(ids) == 1
    assert set(states()) == ids


def test_a_key_file_elsewhere_is_used_and_must_exist(tmp_path, monkeypatch):
    monkeypatch.setenv(keys.VARIABLE, str(tmp_path / "team.key"))
    with pytest.raises(UserError, match=r"LDEP_SIGNING_KEY names .*team\.key, which does not exist"):
        keys.read()
    key = keys.new(name="team")
    assert keys.signing_key().id == key.id
    assert not Path(".ldep/signing.key").exists()
    assert TrustedKeys.read().by_id[key.id].name == "team"


def test_a_rotation_retires_the_old_key_and_a_revocation_lasts():
    with pytest.raises(UserError, match="`ldep keys new` makes the first one"):
        keys.rotate()
    first = keys.new()
    with pytest.raises(UserError, match="exists already; `ldep keys rotate` replaces it"):
        keys.new()
    assert keys.rotate()[0] == first.id
    second = keys.signing_key()
    keys.revoke(second.id, "lost")
    with pytest.raises(UserError, match=f"the key {second.id} is revoked already"):
        keys.revoke(second.id, "")
    with pytest.raises(UserError, match="has no key gone; `ldep keys show`"):
        keys.revoke("gone", "")
    with pytest.raises(UserError, match=r"has the key .* already: it is revoked"):
        keys.trust(second.public, "again")
    third = keys.rotate()[1]
    assert states() == {first.id: "retired", second.id: "revoked", third.id: "active"}
    assert TrustedKeys.read().by_id[second.id].why == "lost"


def test_a_retired_key_signs_nothing_new():
    old = keys.new()
    content = Path(".ldep/signing.key").read_bytes()
    keys.rotate()
    Path(".ldep/signing.key").write_bytes(content)
    with pytest.raises(UserError, match=f"{old.id}\\) is retired since 20.*`ldep keys rotate`"):
        keys.signing_key()


@pytest.mark.parametrize("public", ["", "?", "YWJj", "not base64 at all, but of 44 characters ...."])
def test_what_is_no_public_key_is_refused(public):
    with pytest.raises(UserError, match="is not a public key: it has 44 characters"):
        keys.trust(public, "Ana")
    assert not TRUSTED.exists()


@pytest.mark.parametrize("content", [b"", b"0123456789abcdef" * 4, b"-----BEGIN PRIVATE KEY-----\nAAAA\n"])
def test_a_damaged_private_key_is_reported(content):
    keys.new()
    Path(".ldep/signing.key").write_bytes(content)
    with pytest.raises(UserError, match=r"signing\.key is not an Ed25519 private key in PEM"):
        keys.signing_key()


def other_id(entry):
    return entry | {"id": "0" * 16}


def other_state(entry):
    return entry | {"state": "trusted"}


def more(entry):
    return entry | {"expires": "never"}


@pytest.mark.parametrize("change", [other_id, other_state, more])
def test_a_file_of_trusted_keys_that_was_edited_wrongly_is_reported(change):
    keys.new()
    entry = json.loads(TRUSTED.read_text())["keys"][0]
    TRUSTED.write_text(json.dumps({"keys": [change(entry)]}))
    with pytest.raises(UserError, match=r"trusted-keys\.json is damaged .*`git checkout trusted-keys\.json`"):
        TrustedKeys.read()


def test_a_revoked_key_cannot_be_listed_a_second_time_as_active():
    """As a merge of two branches of git might leave it."""
    key = keys.new()
    active = json.loads(TRUSTED.read_text())["keys"]
    keys.revoke(key.id, "lost")
    TRUSTED.write_text(json.dumps({"keys": json.loads(TRUSTED.read_text())["keys"] + active}))
    with pytest.raises(UserError, match="a key is listed twice"):
        TrustedKeys.read()


def test_the_command_shows_makes_rotates_revokes_and_trusts(ldep):
    assert "lists no key" in ldep("keys")[1]
    assert ldep("keys", "new", "--name", "Ana")[0] == 0
    first = keys.signing_key()
    assert f"This clone signs with {first.id} (active), public key {first.public}." in ldep("keys", "show")[1]
    assert f"in the place of {first.id}" in ldep("keys", "rotate")[1]
    assert ldep("keys", "revoke", first.id, "--why", "an old laptop")[0] == 0
    assert ldep("keys", "trust", keys.SigningKey.new().public, "--name", "Berta")[0] == 0
    shown = ldep("keys")[1]
    for text in (first.id, "revoked", "active", "Ana", "Berta"):
        assert text in shown
