"""`osdi-frames pull`: what it prints, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

from osdi_frames.pulls import manifests
from tests.commands import run

from .hostile import listening


def pull(base_url: str, *words: object, key: str = "key") -> CompletedProcess[str]:
    return run("pull", base_url, *words, OSDI_API_KEY=key)


def test_pull_as_json_is_the_manifest_and_a_quiet_one_says_nothing_when_it_is_complete(stocked, tmp_path):
    with stocked(pages=2) as served:
        base_url, key = served.running.base_url, served.running.group_key
        for number, quiet in enumerate([[], ["--quiet"]]):
            folder = tmp_path / str(number)
            done = pull(base_url, folder, "--json", "--rate", 100, *quiet, key=key)
            assert (done.returncode, done.stderr) == (0, "")
            (manifest,) = manifests(folder)
            found = json.loads(done.stdout)
            assert found == {"folder": str(manifest.folder)} | manifest.as_json()
            assert found["complete"] is True
        done = pull(base_url, tmp_path / "quiet", "--quiet", "--rate", 100, key=key)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_campaign_that_does_not_exist_is_named(stocked, tmp_path):
    with stocked(pages=2) as served:
        running = served.running
        done = pull(running.base_url, tmp_path / "pulled", "--campaign", "nope", key=running.group_key)
    assert done.returncode == 1
    assert "nope" in done.stdout
    assert "a campaign is named by its id, which the collection event_campaigns shows" in done.stdout


def test_what_a_terminal_would_obey_in_the_words_of_a_service_is_shown_harmless(tmp_path: Path) -> None:
    words = "gone\x1b[2J\u202e\ncomplete: yes\x9b"
    answer = json.dumps({"error": words}).encode()
    with listening(lambda _: (404, {"Content-Type": "application/json"}, answer)) as service:
        done = pull(service.base_url, tmp_path / "pulled", "--campaign", "\x1b]0;x\x07")
    assert done.returncode == 1
    assert "gone" in done.stdout + done.stderr
    for line in (done.stdout + done.stderr).split("\n"):
        assert line.isprintable()
        assert line != "complete: yes"
