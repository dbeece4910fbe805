"""Read tensor files in the safetensors format without torch.

A file is 8 bytes with the length of the header (little-endian), the header in JSON, and the tensors' bytes.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("u1"),
}


def load(data: bytes) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file by name; they are read-only views of data.

    Raises ValueError, naming the tensor, if the file does not keep to the format or has another type.
    """
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > len(data) - 8:
        raise ValueError(f"a header of {length} bytes in a file of {len(data)}: not a safetensors file")
    try:
        header = json.loads(data[8 : 8 + length])
    except ValueError as error:
        raise ValueError(f"the header is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise ValueError("the header is not a JSON object")
    body = memoryview(data)[8 + length :]
    return {name: _tensor(name, of, body) for name, of in header.items() if name != "__metadata__"}


def _tensor(name: str, of: Any, body: memoryview) -> NDArray[Any]:
    try:
        dtype, shape, (begin, end) = _TYPES[of["dtype"]], of["shape"], of["data_offsets"]
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"tensor {name}: {of!r} is not a description that is known here") from None
    numbers = [begin, end, *shape] if isinstance(shape, list) else [-1]
    if not all(isinstance(k, int) and k >= 0 for k in numbers) or not begin <= end <= len(body):
        raise ValueError(f"tensor {name}: {of!r} does not fit a body of {len(body)} bytes")
    if math.prod(shape) * dtype.itemsize != end - begin:
        raise ValueError(f"tensor {name}: {end - begin} bytes for shape {shape} of {of['dtype']}")
    out: NDArray[Any] = np.frombuffer(body[begin:end], dtype).reshape(shape)
    return out
