"""The key is in the header of requests to its own origin, and nowhere else."""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import json
import logging
import pickle
import socket
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osdi_frames import Client
from osdi_frames.client.address import Address
from osdi_frames.client.key import ApiKey
from osdi_frames.errors import (
    BadAddress,
    BadAnswer,
    ForeignAddress,
    IncompletePull,
    InsecureAddress,
    KeyRefused,
    MissingKey,
    OsdiError,
    ServiceError,
    ServiceUnreachable,
    ServiceWarning,
)

from .hostile import Answers, listening, speaking

CANARY = "canary-7f3a9c"
PAGE = {"page": 1, "_links": {}, "_embedded": {"osdi:events": []}}

#: Links and redirects that lead elsewhere, or that parsers read differently. {evil} listens, {good} is the service.
HOSTILE = {
    "another port": "http://127.0.0.1:{evil}/api/v2/events?page=2",
    "without scheme": "//127.0.0.1:{evil}/api/v2/events?page=2",
    "another scheme": "https://127.0.0.1:{good}/api/v2/events?page=2",
    "the service as user name": "http://127.0.0.1:{good}@127.0.0.1:{evil}/api/v2/events",
    "a user name at the service": "http://someone@127.0.0.1:{good}/api/v2/events",
    "a trailing dot": "http://127.0.0.1.:{evil}/api/v2/events",
    "another name of the host": "http://localhost:{good}/api/v2/events",
    "an address as one number": "http://2130706433:{evil}/api/v2/events",
    "an IPv6 literal": "http://[::ffff:127.0.0.1]:{evil}/api/v2/events",
    "an international name": "http://ⅼocalhost:{evil}/api/v2/events",
    "backslashes": "\\\\127.0.0.1:{evil}\\api\\v2\\events",
    "a slash and a backslash": "/\\127.0.0.1:{evil}/api/v2/events",
    "a backslash before the at sign": "http://127.0.0.1:{evil}\\@127.0.0.1:{good}/api/v2/events",
    "a tab in the scheme": "ht\ttp://127.0.0.1:{evil}/api/v2/events",
    "a line break before the host": "http:\n//127.0.0.1:{evil}/api/v2/events",
    "a fragment before the at sign": "http://127.0.0.1:{evil}#@127.0.0.1:{good}/api/v2/events",
    "an encoded at sign": "http://127.0.0.1:{good}%40127.0.0.1:{evil}/api/v2/events",
    "another protocol": "ftp://127.0.0.1:{evil}/api/v2/events",
    "no authority": "http:127.0.0.1:{evil}/api/v2/events",
    "a script": "javascript:alert(1)",
}


@contextlib.contextmanager
def everything_logged() -> Iterator[io.StringIO]:
    """Log everything at DEBUG, and give what was logged."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield text
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def all_of(error: BaseException) -> str:
    """Write an error as a reporter of errors would: with everything that led to it, and the locals of every frame.

    Frames of this test are left out: the canary is in their names.
    """
    reported = traceback.TracebackException.from_exception(error, capture_locals=True)
    seen: list[str] = []
    waiting = [reported]
    while waiting:
        described = waiting.pop()
        described.stack = traceback.StackSummary.from_list(
            [frame for frame in described.stack if "tests" not in Path(frame.filename).parts]
        )
        seen += [*described.format(chain=False)]
        waiting += [inner for inner in (described.__cause__, described.__context__) if inner]
    return "".join(seen) + repr(error) + str(vars(error)) + repr(pickle.dumps(error))


def client_of(base_url: str, **settings: object) -> Client:
    return Client(base_url, CANARY, **({"rate": None, "retries": 1, "backoff": 0.001} | settings))


def events_with_next(link: str) -> Answers:
    body = json.dumps(
        PAGE | {"_links": {"next": {"href": link}}, "_embedded": {"osdi:events": [{"title": "A"}]}}
    )
    return lambda _: (200, {}, body.encode())


@pytest.mark.parametrize("way", ["next", "redirect"])
def test_the_key_goes_along_no_link_and_no_redirect_elsewhere(way, tmp_path):
    answers: list[Answers] = []
    with (
        listening(lambda _: (200, {}, b"{}")) as evil,
        listening(lambda path: answers[-1](path)) as good,
        everything_logged() as log,
        client_of(good.base_url) as client,
    ):
        for form, hostile in HOSTILE.items():
            link = hostile.format(evil=evil.port, good=good.port)
            redirect = {"Location": link.replace("\n", "%0a").encode("utf-8").decode("latin-1")}
            answers.append(
                events_with_next(link) if way == "next" else lambda _, redirect=redirect: (302, redirect, b"")
            )
            expected = ForeignAddress if way == "next" else (ForeignAddress, ServiceError)
            with pytest.raises(expected) as caught:
                list(client.pages())
            with contextlib.suppress(OsdiError):
                client.pull(tmp_path / form)
            assert not evil.asked, form
            assert CANARY not in all_of(caught.value), form
        assert good.got(CANARY)
        assert all(path.startswith("/") and CANARY not in path for path, _ in good.asked)
    assert CANARY not in log.getvalue()
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(CANARY.encode() in path.read_bytes() for path in written)


def test_redirects_within_the_origin_are_followed_but_not_without_end():
    def answers(path: str) -> tuple[int, dict[str, str], bytes]:
        if path == "/api/v2/events":
            return 307, {"Location": "/api/v2/events/"}, b""
        if path.startswith("/api/v2/petitions"):
            return 302, {"Location": f"{path}x"}, b""
        return 200, {}, json.dumps(PAGE).encode()

    with listening(answers) as good, client_of(good.base_url) as client:
        assert next(client.pages())["page"] == 1
        with pytest.raises(ServiceError, match=r"petitionsx+ was answered 302"):
            list(client.pages("petitions"))
        with pytest.raises(ServiceError, match="answered 307"):
            client.create_event({"title": "A", "origin_system": "B"})


def test_neither_repr_nor_pickle_shows_the_key():
    with client_of("http://127.0.0.1:1/v2") as client:
        assert repr(client) == "Client('http://127.0.0.1:1/v2')"
        for holder in (client, client._transport, client._transport.key):
            assert CANARY not in repr(holder)
        for owner in (client, client._transport.key):
            with pytest.raises(TypeError, match="not pickled"):
                pickle.dumps(owner)
        assert CANARY not in repr(vars(client)) + repr(vars(client._transport))


def test_a_service_that_repeats_the_key_does_not_bring_it_into_an_error(tmp_path):
    words = json.dumps({"error": f"the key {CANARY} is unknown"}).encode()
    with listening(lambda _: (403, {}, words)) as good, client_of(good.base_url) as client:
        with pytest.raises(KeyRefused, match=r"the key \[key\] is unknown") as caught:
            client.pull(tmp_path)
        assert CANARY not in all_of(caught.value)
        assert CANARY not in next(tmp_path.glob("*/.manifest.json")).read_text()


def test_a_key_that_is_repeated_where_words_are_cut_is_not_shown_in_part():
    words = json.dumps({"error": "x " * 98 + CANARY}).encode()
    with listening(lambda _: (400, {}, words)) as good, client_of(good.base_url) as client:
        with pytest.raises(ServiceError, match=r"…$") as caught:
            client.events()
        assert CANARY[:4] not in str(caught.value)


def test_an_address_is_shown_without_the_values_of_its_query():
    for link in (
        "http:evil/?key={}",
        "//127.0.0.1:1/?key={}",
        "http://[evil/?key={}",
        "http://a:{}@127.0.0.1/",
    ):
        with listening(events_with_next(link.format(CANARY))) as good, client_of(good.base_url) as client:
            with pytest.raises(ForeignAddress) as caught:
                list(client.pages())
            assert CANARY not in str(caught.value)
            assert CANARY not in str(caught.value.__cause__)


def test_an_answer_that_is_no_http_and_repeats_the_key_does_not_bring_it_into_an_error():
    answers = [
        "HTTP/1.1 {}\r\n\r\n",
        "HTTP/1.1 200 OK\r\nbad {}\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Encoding: {}\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{{}}",
    ]

    def write(connection: socket.socket, _: bytes) -> None:
        connection.sendall(answer.format(CANARY).encode())
        connection.shutdown(socket.SHUT_RDWR)

    with speaking(write) as url:
        for answer in answers:
            with client_of(url, retries=0) as client:
                with pytest.raises((ServiceUnreachable, BadAnswer)) as caught:
                    client.events()
                assert CANARY not in str(caught.value), answer
                cause: BaseException | None = caught.value
                while cause := cause and (cause.__cause__ or cause.__context__):
                    assert CANARY not in str(cause) + repr(vars(cause))
                    assert getattr(cause, "_request", None) is None


def broken_off() -> Iterator[int]:
    """Listen for connections and reset them as soon as they are made."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0.05)
        stop = threading.Event()

        def reset() -> None:
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    connection, _ = server.accept()
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    connection.close()

        thread = threading.Thread(target=reset)
        thread.start()
        yield server.getsockname()[1]
        stop.set()
        thread.join()


def test_a_traceback_with_locals_does_not_show_the_key():
    with contextlib.contextmanager(broken_off)() as port, everything_logged() as log:
        for _ in range(8):  # where in httpx it breaks is a matter of moments
            with client_of(f"http://127.0.0.1:{port}/v2", retries=0) as client:
                with pytest.raises(ServiceUnreachable) as caught:
                    client.events()
                assert CANARY not in all_of(caught.value)
    assert CANARY not in log.getvalue()


def test_an_error_of_the_constructor_does_not_show_the_key():
    for wrong in ("http://example.org/v2", "https://example.org/", "https://a:b@example.org/v2", "nonsense"):
        with pytest.raises(BadAddress) as caught:
            client_of(wrong)
        assert CANARY not in all_of(caught.value)
    with pytest.raises(MissingKey) as caught_key:
        Client("https://example.org/v2", f"{CANARY}\nX-Other: 1")
    assert CANARY not in all_of(caught_key.value)


# -- where the key may go at all --


def test_http_is_for_this_machine_unless_another_one_is_allowed():
    for address in ("http://example.org/v2", "http://10.0.0.1/v2", "http://127.0.0.1.nip.io/v2"):
        with pytest.raises(InsecureAddress, match="in clear"):
            client_of(address)
        client_of(address, allow_http=True).close()
    for address in ("http://127.0.0.1:8700/v2", "http://localhost/v1", "http://[::1]/v2"):
        client_of(address).close()


def test_the_version_is_that_of_the_address_or_is_given():
    assert Address.parse("https://example.org/api/v1/").version == "v1"
    assert Address.parse("https://example.org/api", version="v2").version == "v2"
    with pytest.raises(BadAddress, match="version="):
        Address.parse("https://example.org/api")


@given(link=st.text() | st.from_regex(r"(http:|https:|/|\\)?[/\\]{0,3}[a-z@:.0-9\\/%]{0,30}", fullmatch=True))
def test_whatever_a_link_is_the_key_stays_at_the_origin(link):
    address = Address.parse("https://example.org/api/v2")
    try:
        found = address.own(link, at="https://example.org/api/v2/events")
    except ForeignAddress:
        return
    assert found.startswith("https://example.org/")
    assert found.isascii()
    assert found.isprintable()


# -- TLS --


def test_certificates_are_verified_and_others_can_be_trusted(certificate, monkeypatch):
    trusted, context = certificate
    page = json.dumps(PAGE | {"total_pages": 1, "total_records": 0}).encode()
    with listening(lambda _: (200, {}, page), tls=context) as good:
        with (
            client_of(good.base_url) as client,
            pytest.raises(ServiceUnreachable, match="CERTIFICATE_VERIFY"),
        ):
            client.events()
        assert not good.asked
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        with client_of(good.base_url) as client:
            assert len(client.events()) == 0
        assert good.got(CANARY)
        wrong_name = good.base_url.replace("127.0.0.1", "localhost")
        with client_of(wrong_name) as client, pytest.raises(ServiceUnreachable):
            client.events()


def test_a_proxy_is_not_shown_a_key_in_clear(monkeypatch):
    page = json.dumps(PAGE | {"total_pages": 1, "total_records": 0}).encode()
    with listening(lambda _: (502, {}, b"")) as proxy, listening(lambda _: (200, {}, page)) as good:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("all_proxy", f"http://127.0.0.1:{proxy.port}")
        with client_of(good.base_url) as client:
            assert len(client.events()) == 0
        assert not proxy.asked


# -- a key that the service repeats in addresses and ids --

ECHOES = {
    "a redirect elsewhere": (302, {"Location": "http://elsewhere.example/{}/x"}),
    "a redirect to a host of that name": (302, {"Location": "http://{}.example/x"}),
    "a redirect that nobody can read": (302, {"Location": "/\\{}"}),
    "a redirect percent-encoded": (302, {"Location": "http://elsewhere.example/%63anary-%37f3a9c"}),
    "a redirect where the address is cut": (
        302,
        {"Location": "http://elsewhere.example/" + "x" * 160 + "{}"},
    ),
    "redirects without end": (302, {"Location": "/api/v2/{}"}),
    "an address that is none": (302, {"Location": "http://[{}/"}),
    "an encoding": (200, {"Content-Encoding": "gzip {}"}),
}


def test_a_key_in_a_redirect_or_header_is_struck_from_the_error(tmp_path):
    for echo, (status, headers) in ECHOES.items():
        written = {name: value.format(CANARY) for name, value in headers.items()}
        with (
            listening(lambda _, answer=(status, written, b"{}"): answer) as good,
            client_of(good.base_url) as client,
            pytest.raises(OsdiError) as caught,
        ):
            client.pull(tmp_path / echo)
        shown = repr(everything_in(caught.value)).lower()
        assert CANARY[:6] not in shown, echo
        assert "%63anary" not in shown
        assert CANARY[:6] not in next(tmp_path.glob(f"{echo}/*/.manifest.json")).read_text()


def everything_in(error: BaseException) -> list[object]:
    """Return the words and attributes of an error and of all that led to it."""
    found: list[object] = []
    inner: BaseException | None = error
    while inner is not None:
        found += [str(inner), inner.args, vars(inner)]
        inner = inner.__cause__ or inner.__context__
    return found


@pytest.mark.filterwarnings("ignore:.* page 2 has the rows of page 1 again")
def test_a_key_in_a_next_is_struck_from_the_error_and_from_the_archive(tmp_path):
    for number, link in enumerate(["http://elsewhere.example/{}", "/\\{}", "/api/v2/{}"]):
        failed: OsdiError | None = None
        folder = tmp_path / str(number)
        with (
            listening(events_with_next(link.format(CANARY))) as good,
            client_of(good.base_url, max_pages=2) as client,
        ):
            try:
                client.pull(folder)
            except OsdiError as error:
                failed = error
        assert CANARY not in repr(failed and everything_in(failed))
        assert CANARY not in next(folder.glob("*/.manifest.json")).read_text()
        for path in folder.glob("*/pages-*"):
            for line in gzip.decompress(path.read_bytes()).splitlines():
                assert CANARY not in json.loads(line)["url"]


def test_a_key_that_is_an_id_is_struck_from_what_is_missing(tmp_path):
    event = {"identifiers": [f"platform:{CANARY}"]}
    page = {"total_pages": 2, "total_records": 2, "_embedded": {"osdi:events": [event]}}
    with (
        listening(lambda _: (200, {}, json.dumps(page).encode())) as good,
        client_of(good.base_url) as client,
    ):
        with pytest.warns(ServiceWarning, match="page 2 has the rows of page 1 again"):
            manifest = client.pull(tmp_path)
        assert "rows on more than one page: '[key]'" in manifest.why
        with pytest.raises(IncompletePull, match=r"'\[key\]'"):
            client.events()
    assert CANARY not in (manifest.folder / ".manifest.json").read_text()


@given(
    key=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=6, max_size=40),
    more=st.sampled_from(["", ":", ":more"]),
    write=st.sampled_from(
        [
            quote,
            str.upper,
            lambda text: base64.b64encode(text.encode()).decode(),
            lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
            lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
        ]
    ),
)
def test_a_key_is_struck_as_it_is_percent_encoded_and_at_the_beginning_of_base64(key, more, write):
    redacted = ApiKey(key).redact(f"Basic {write(key + more)} is unknown")
    assert redacted.startswith("Basic [key]")
    # What is left stands for the rest of the credentials.
    assert len(redacted) <= len(f"Basic [key]{write('xxx' + more)} is unknown")
