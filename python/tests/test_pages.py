"""Blocks of Python in README, docs/data.md and python/README run as printed, but for the broker's port."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from .conftest import ROOT
from .test_kafka import free_port, wait_for

for needed in ("confluent_kafka", "pandas", "pyarrow"):
    pytest.importorskip(needed)
from rivulet_mcond.kafka import read_predictions  # noqa: E402


def blocks(page: str) -> list[str]:
    """The blocks of Python in a page."""
    return re.findall(r"(?ms)^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"))


class Checkout:
    """A directory with the examples, the programs in PATH, and a broker in place of localhost:9092."""

    def __init__(self, directory: pathlib.Path, programs: pathlib.Path, broker: str) -> None:
        self.directory, self.broker = directory, broker
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.environ = os.environ | {"PATH": path, "RIVULET_KAFKA_BROKERS": broker}

    def run(self, *command: str, out: str | None = None, given: str | None = None) -> str:
        done = subprocess.run(
            command,
            cwd=self.directory,
            env=self.environ,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        if out is not None:
            (self.directory / out).write_text(done.stdout)
        return done.stdout

    def python(self, block: str) -> str:
        return self.run(sys.executable, "-c", block.replace("localhost:9092", self.broker))


@pytest.fixture(scope="module")
def checkout(programs: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """README's model, served by a consumer."""
    directory, broker = tmp_path_factory.mktemp("checkout"), f"127.0.0.1:{free_port()}"
    consumer = programs / "consumer"
    if not consumer.exists():
        subprocess.run(["go", "build", "-o", str(consumer), "./cmd/consumer"], cwd=ROOT, check=True)
    shutil.copytree(ROOT / "examples" / "shop", directory / "examples" / "shop")
    shutil.copytree(ROOT / "examples" / "shop", directory / "out" / "readme")
    at = Checkout(directory, programs, broker)
    at.run("trainer", "data", "init", "out/readme", "--label", "favourite")
    at.run("trainer", "train", "--data", "out/readme", "--out", "out/readme/model", "--costs=false")
    log = (directory / "log").open("wb")
    started = [
        subprocess.Popen(
            [programs / "rivulet", "devstack", "--kafka", broker, "--redis", ""], stdout=log, stderr=log
        )
    ]
    try:
        wait_for(int(broker.split(":")[1]), started[0])
        settings = ["--artifact", "out/readme/model", "--kafka.brokers", broker, "--http.listen", ""]
        started.append(subprocess.Popen([consumer, *settings], cwd=directory, stdout=log, stderr=log))
        yield at
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(60)


def test_readme(checkout: Checkout) -> None:
    """The answers are those of the block's own users, though the stream has others already."""
    checkout.run("rivulet", "replay", "--data", "out/readme", "--limit", "20")
    read_predictions(checkout.broker, count=20, timeout=300)  # the consumer runs
    (block,) = blocks("README.md")
    said = checkout.python(block)
    assert said.count("u2950") == said.count("u2999") == 2
    assert "[50 rows x" in said


def test_data_and_python(checkout: Checkout) -> None:
    write, _, send, *_ = (block for block in blocks("docs/data.md") if "import" in block)
    assert "tables.write(" in write and "predictions_frame(open(" in send
    checkout.python(write)
    checkout.run("trainer", "train", "--data", "out/data/shop", "--out", "out/data/model", "--costs=false")
    arrivals = checkout.run("rivulet", "replay", "--data", "out/data/shop", "--limit", "5", "--out", "-")
    checkout.run(
        "rivulet", "predict", "--artifact", "out/data/model", out="out/data/predictions.jsonl", given=arrivals
    )
    checkout.python(send)
    assert checkout.python(write) == ""  # once more: it replaces what it has written
    last = "print(Predictor(artifact).predict(arrivals).to_frame())"
    said = checkout.python("\n".join([*(b for b in blocks("python/README.md") if "mlflow" not in b), last]))
    assert said.count("u29") == 50  # all 50 users of the example
