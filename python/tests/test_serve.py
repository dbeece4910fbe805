"""`rivulet serve` with Triton's client of the Open Inference Protocol, and its description with a validator."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from .conftest import Set

http = pytest.importorskip("tritonclient.http", reason="tritonclient[http] is not installed")


@pytest.fixture(scope="module")
def small(trained: Callable[[str, str], Set]) -> Set:
    return trained("small", "sgc,ssgc,gcn,sage,gin,sign,appnp,cheby")


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


def tensors(small: Set, binary: bool, edges: bool = True, client: Any = http) -> tuple[list[Any], list[bytes]]:
    """Inputs of the first 40 arrivals, and their lines."""
    lines = small.lines.read_bytes().splitlines()[:40]
    arrivals = [json.loads(line) for line in lines]
    width = json.loads((small.artifact / "manifest.json").read_text())["data"]["features"]
    x = np.zeros((len(arrivals), width), np.float32)
    neighbours: list[str] = []
    offsets = [0]
    for i, a in enumerate(arrivals):
        f = a["features"]
        x[i, f["indices"]] = f.get("values") or 1
        neighbours += [str(e) for e in a.get("edges") or []]
        offsets.append(len(neighbours))
    given = {"id": np.array([str(a["id"]) for a in arrivals], dtype=object), "features": x}
    if edges:
        given["edges"], given["edges.offsets"] = np.array(neighbours, dtype=object), np.array(offsets, np.int64)
    kinds = {"features": "FP32", "edges.offsets": "INT64"}
    inputs = []
    for name, values in given.items():
        tensor = client.InferInput(name, list(values.shape), kinds.get(name, "BYTES"))
        tensor.set_data_from_numpy(values, **({"binary_data": binary} if client is http else {}))
        inputs.append(tensor)
    return inputs, lines


def test_health_and_metadata(small: Set, address: str) -> None:
    with http.InferenceServerClient(address) as client:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("rivulet")
        assert not client.is_model_ready("other")
        assert "binary_tensor_data" in client.get_server_metadata()["extensions"]
        model = client.get_model_metadata("rivulet")
        assert {t["name"]: t["datatype"] for t in model["inputs"]} == {
            "id": "BYTES",
            "features": "FP32",
            "edges": "BYTES",
            "edges.offsets": "INT64",
        }
        assert client.is_model_ready("rivulet", model["versions"][0])
        assert not client.is_model_ready("rivulet", "other")


@pytest.mark.parametrize("binary_in", [True, False])
@pytest.mark.parametrize("binary_out", [True, False, None])
def test_the_bits_of_predict(small: Set, address: str, binary_in: bool, binary_out: bool | None) -> None:
    inputs, lines = tensors(small, binary_in)
    outputs = None
    if binary_out is not None:
        outputs = [http.InferRequestedOutput(n, binary_data=binary_out) for n in ("probabilities", "class")]
    want = small.predict("sgc", "auto", b"\n".join(lines))
    with http.InferenceServerClient(address) as client:
        got = client.infer("rivulet", inputs, outputs=outputs, request_id="r-7")
    assert got.get_response()["id"] == "r-7"
    assert got.get_response()["model_version"] == want[0]["artifact"]
    assert got.as_numpy("class").dtype == np.int32
    assert got.as_numpy("class").tolist() == [p["class"] for p in want]
    probabilities = got.as_numpy("probabilities")
    assert probabilities.dtype == np.float32
    assert np.array_equal(probabilities, np.array([p["probabilities"] for p in want], np.float32))


def test_without_edges(small: Set, address: str) -> None:
    inputs, lines = tensors(small, True, edges=False)
    alone = [{k: v for k, v in json.loads(line).items() if k != "edges"} for line in lines]
    want = small.predict("sgc", "auto", "\n".join(map(json.dumps, alone)).encode())
    with http.InferenceServerClient(address) as client:
        got = client.infer("rivulet", inputs)
    assert np.array_equal(
        got.as_numpy("probabilities"), np.array([p["probabilities"] for p in want], np.float32)
    )


def test_the_bits_by_grpc(small: Set, address: str) -> None:
    grpc = pytest.importorskip("tritonclient.grpc", reason="tritonclient[grpc] is not installed")
    from tritonclient.utils import InferenceServerException

    inputs, lines = tensors(small, True, client=grpc)
    want = small.predict("sgc", "auto", b"\n".join(lines))
    with grpc.InferenceServerClient(address) as client:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("rivulet")
        assert not client.is_model_ready("other")
        assert client.get_model_metadata("rivulet").versions == [want[0]["artifact"]]
        got = client.infer("rivulet", inputs, request_id="r-7")
        inputs[1] = grpc.InferInput("features", [40, 3], "FP32")
        inputs[1].set_data_from_numpy(np.zeros((40, 3), np.float32))
        with pytest.raises(InferenceServerException, match="row 0"):
            client.infer("rivulet", inputs)
    assert got.get_response().id == "r-7"
    assert got.get_response().model_version == want[0]["artifact"]
    assert got.as_numpy("class").tolist() == [p["class"] for p in want]
    probabilities = got.as_numpy("probabilities")
    assert np.array_equal(probabilities, np.array([p["probabilities"] for p in want], np.float32))


def test_errors_say_the_row(small: Set, address: str) -> None:
    inputs, _ = tensors(small, True)
    wrong = np.zeros((40, 3), np.float32)
    inputs[1] = http.InferInput("features", [40, 3], "FP32")
    inputs[1].set_data_from_numpy(wrong)
    from tritonclient.utils import InferenceServerException

    with http.InferenceServerClient(address) as client, pytest.raises(InferenceServerException, match="row 0"):
        client.infer("rivulet", inputs)


def test_the_description_is_openapi(address: str) -> None:
    validator = pytest.importorskip("openapi_spec_validator", reason="openapi-spec-validator is not installed")
    with urllib.request.urlopen(f"http://{address}/openapi.json") as answer:
        validator.validate(json.load(answer))
