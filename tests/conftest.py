"""What tests of several rooms use."""

import asyncio
import gc
import os
import shutil
import ssl
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import httpx
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings

import osdi_frames as of
from osdi_frames import sample
from osdi_frames.errors import SourceWarning
from osdi_frames.parsing.check import Inspection
from osdi_frames.store import store
from osdi_frames.tables import TABLES
from tests.clocks import GUARD
from tests.once import made_once, read_once
from tests.one_pass import scanned

# How long an example or an answer takes depends on what else the machine does.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Whether a change is good is not to depend on what is drawn today: long forms and tests.fuzz look for what is new.
settings.register_profile(
    "same examples", settings.get_profile("any machine"), derandomize=True, max_examples=12
)
gc.disable()  # what is imported and collected stays until the end; tests run with it
store.RESOLVED_BYTES = 0  # archives of tests are small
vars(httpx._config.DEFAULT_TIMEOUT_CONFIG).update(vars(httpx.Timeout(GUARD)))  # 5 s otherwise


def pytest_configure(config: pytest.Config) -> None:
    """Choose what Hypothesis draws, and keep compiled modules, which each worker and process would make again."""
    settings.load_profile("same examples" if config.option.markexpr == "not long" else "any machine")
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Collect no doctests here: each module would be imported for them, also those that only benchmarks use."""
    return [collector for collector in (yield) if type(collector) is pytest.Module]


def pytest_collection_finish() -> None:
    """Take libraries and collected tests out of garbage collection: each full one would go through all of them."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let the interpreter free at its end what it frees otherwise; extension modules complain of the rest."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def own_umask() -> Iterator[None]:
    """Keep the umask that a command sets in this process from other tests."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(autouse=True)
def figures_closed() -> Iterator[None]:
    """Close what a test draws with pyplot, which warns of the twenty-first figure that is open in a process."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the sample archive of the repository."""
    return Path(__file__).parents[1] / "data"


@pytest.fixture(scope="session")
def little(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an archive like the sample, a tenth as large, for tests of what does not depend on how much there is."""
    return made_once(
        tmp_path_factory, "little", lambda folder: sample.write(folder, signatures=150, events=60)
    )


@pytest.fixture(scope="session")
def little_of_all(little: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the small archive with the attendances of the sample."""

    def write(folder: Path) -> None:
        shutil.copytree(little, folder)
        shutil.copy(data / "attendances.ndjson.zst", folder)

    return made_once(tmp_path_factory, "little-of-all", write)


@pytest.fixture(scope="session")
def demo_db(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Return what copies the database of a sandbox with the demo into a folder; the demo is made once."""

    def fill(db: Path) -> None:
        from osdi_frames import sandbox  # needs an extra

        app = sandbox.create_app(db)
        sandbox.fill_demo(app)
        app.state.service.store.close()

    return lambda folder: Path(shutil.copy(made_once(tmp_path_factory, "demo.db", fill), folder))


@pytest.fixture(scope="session")
def sample_tables(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Table]:
    """Return the tables of the sample archive."""
    with warnings.catch_warnings(action="ignore", category=SourceWarning):  # some tables are not there
        return read_once(tmp_path_factory, "sample-tables", lambda: scanned(data, [*TABLES]))


@pytest.fixture(scope="session")
def inspected(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Inspection:
    """Return what is in the sample archive."""
    return read_once(tmp_path_factory, "inspected", of.open(data).inspect)


@pytest.fixture(scope="session")
def reported(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    """Return the reports of the sample archive."""
    return read_once(tmp_path_factory, "reported", lambda: dict(of.report(data)))


@dataclass
class Sleeping:
    """What sleeps until the test wakes it, and for how many seconds each would."""

    seconds: list[float] = field(default_factory=list)
    woken: threading.Event = field(default_factory=threading.Event)

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        while not self.woken.is_set():
            await asyncio.sleep(0.01)

    def wake(self) -> None:
        self.woken.set()


@pytest.fixture
def sleeping(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sleeping]:
    """Let requests of a sandbox in this process that are to be late wait until the test wakes them."""
    late = Sleeping()
    monkeypatch.setattr("osdi_frames.sandbox.faults.asyncio", SimpleNamespace(sleep=late.sleep))
    yield late
    late.wake()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """Make a certificate of this machine that nobody vouches for; return it, and the context of its server."""
    folder = tmp_path_factory.mktemp("tls")
    of_loopback = "-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    words = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 {of_loopback} -keyout key.pem -out cert.pem"
    subprocess.run(words.split(), cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return folder / "cert.pem", context
