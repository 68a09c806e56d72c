"""What a sandbox guards: its admin interface, whom it delivers to, and its files."""

from __future__ import annotations

import http.client
import json
import os
import stat

import pytest

from osdi_frames import sandbox
from osdi_frames.errors import RequestRefused
from tests.client.hostile import listening
from tests.clocks import GUARD, wait_for


def ask(running, method, path, headers):
    connection = http.client.HTTPConnection(running.host, running.port, timeout=GUARD)
    connection.request(method, path, "{}" if method == "POST" else None, headers)
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return response.status, answer


def test_the_admin_pages_refuse_another_host_s_name(running):
    """DNS rebinding: a page of another site whose name leads here sends that name."""
    for host in (
        "attacker.example:8700",
        "127.0.0.1.attacker.example",
        "localhost.attacker.example",
        "0.0.0.0",  # noqa: S104 (nothing is bound)
        "",
        "[",
        "a b",
    ):
        for path in ("/", "/sandbox", "/sandbox/keys", "/sandbox/people"):
            status, answer = ask(running, "GET", path, {"Host": host})
            assert status == 403
            assert "this machine only" in answer["error"]


def test_the_admin_pages_refuse_a_post_of_another_site(running):
    """Cross-site: a form of another page can be posted here by the browser of whoever runs the sandbox."""
    for origin in ("https://attacker.example", "null", "http://localhost:1", "http://127.0.0.1"):
        for method, path in (("POST", "/sandbox/people"), ("DELETE", "/sandbox/faults")):
            status, answer = ask(running, method, path, {"Origin": origin})
            assert status == 403
            assert "page of" in answer["error"]


def test_the_admin_pages_answer_this_machine_in_every_name_and_their_own_pages(running):
    for host in ("127.0.0.1", "localhost", "[::1]", "127.0.0.2"):
        here = f"{host}:{running.port}"
        assert ask(running, "POST", "/sandbox/people", {"Host": here, "Origin": f"http://{here}"})[0] == 200
        assert ask(running, "GET", "/sandbox/keys", {"Host": host})[0] == 200


def test_a_webhook_of_another_machine_is_refused(running):
    for url in (
        "https://example.org/hook",
        "http://10.0.0.1/",
        "http://127.0.0.1.example.org/",
        "http://[2001:db8::1]/",
        "http://0/",
    ):
        with pytest.raises(RequestRefused, match="--allow-webhook-hosts"):
            running.admin("POST", "webhooks", url=url)


def test_a_webhook_of_an_allowed_host_is_registered_and_only_while_it_is_allowed_delivered_to(
    tmp_path, receiver
):
    """The list is checked at each delivery: a database may come from a sandbox that allowed more."""
    db, host = tmp_path / "sandbox.db", "receiver.invalid"
    with sandbox.serve(sandbox.create_app(db, webhook_hosts=["other.example", host])) as running:
        running.admin("POST", "webhooks", url=f"http://{host}/hook")
    with sandbox.serve(sandbox.create_app(db, retry_after=[0.01], webhook_timeout=GUARD)) as running:
        running.admin("POST", "webhooks", url=receiver.url)
        petition = running.admin("POST", "petitions", title="One")["id"]
        running.admin("POST", "signatures", petition=petition, person={})
        wait_for(lambda: running.admin("GET", "dead-letters"))
        [dead] = running.admin("GET", "dead-letters")
    assert "--allow-webhook-hosts" in dead["last_failure"]
    assert len(receiver.got) == 1


def test_a_receiver_s_certificate_is_verified(certificate, monkeypatch):
    trusted, tls = certificate

    def delivered(running):
        running.admin("POST", "webhooks", url=https.base_url)
        petition = running.admin("POST", "petitions", title="One")["id"]
        running.admin("POST", "signatures", petition=petition, person={})
        wait_for(lambda: not running.admin("GET", "messages?state=waiting"))
        return running.admin("GET", "messages")[0]

    with listening(lambda _: (200, {}, b""), tls=tls) as https:
        with sandbox.serve(sandbox.create_app(retry_after=[])) as running:
            assert "CERTIFICATE_VERIFY_FAILED" in delivered(running)["last_failure"]
        assert not https.asked
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        with sandbox.serve(sandbox.create_app(retry_after=[])) as running:
            assert delivered(running)["state"] == "delivered"
        assert https.got("application/json")


def test_the_database_is_readable_by_its_owner_only_whatever_the_umask(tmp_path):
    """The files hold people: also those that SQLite puts next to it."""
    for umask in (0o000, 0o022, 0o777):
        os.umask(umask)
        app = sandbox.create_app(tmp_path / "sandbox.db")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        app.state.service.store.close()
        assert "sandbox.db" in modes
        assert len(modes) > 1
        assert set(modes.values()) == {0o600}


def test_a_database_that_is_there_keeps_its_mode(tmp_path):
    db = tmp_path / "sandbox.db"
    sandbox.create_app(db).state.service.store.close()
    os.chmod(db, 0o640)  # noqa: PTH101
    sandbox.create_app(db).state.service.store.close()
    assert stat.S_IMODE(db.stat().st_mode) == 0o640
