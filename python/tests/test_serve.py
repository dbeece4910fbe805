"""`rivulet serve` has the bits of `rivulet predict`, and its description passes a validator."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from .conftest import Set


@pytest.fixture(scope="module")
def small(trained: Callable[[str, str], Set]) -> Set:
    return trained("small", "sgc,ssgc,gcn,sage,appnp,cheby")


@pytest.fixture(scope="module")
def address(small: Set) -> Iterator[str]:
    process = subprocess.Popen(
        [
            str(small.programs / "rivulet"),
            "serve",
            "--artifact",
            str(small.artifact),
            "--model",
            "sgc",
            "--serve.listen",
            "127.0.0.1:0",
            "--log.format",
            "json",
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    found = ""
    for line in process.stderr:
        said = json.loads(line)
        if said["msg"] == "answering arrivals":
            found = said["address"]
            break
    yield found
    process.terminate()
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 0, rest


def test_the_bits_of_predict(small: Set, address: str) -> None:
    lines = small.lines.read_bytes().splitlines()[:40]
    want = small.predict("sgc", "auto", b"\n".join(lines))
    request = urllib.request.Request(
        f"http://{address}/predict", b"[" + b",".join(lines) + b"]", {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        got = json.load(answer)
    assert [(p["class"], np.float32(p["probability"])) for p in got] == [
        (p["class"], np.float32(p["probability"])) for p in want
    ]


def test_the_description_is_openapi(address: str) -> None:
    validator = pytest.importorskip("openapi_spec_validator", reason="openapi-spec-validator is not installed")
    with urllib.request.urlopen(f"http://{address}/openapi.json") as answer:
        validator.validate(json.load(answer))
