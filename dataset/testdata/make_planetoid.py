"""Writes the fixtures of TestPlanetoid as Python 2 did, with NumPy and SciPy: python make_planetoid.py

Planetoid's public files were pickled by Python 2, which has no bytes and other names for modules. One graph of ten nodes in
each protocol, and once more as Python 3 writes protocol 2 when nobody asks it for Python 2's types.

    x, y      nodes 0, 1             training
    allx      nodes 0-5
    tx, ty    nodes 9, 6, 8          test.index; node 7 is a gap, as CiteSeer has
    graph     with a self-loop, a neighbour listed twice and an edge that one side lists
"""
import collections, copyreg, os, pickle, io
import numpy as np, scipy.sparse as sp

os.chdir(os.path.dirname(os.path.abspath(__file__)))

PYTHON2 = {"numpy._core.multiarray": "numpy.core.multiarray", "scipy.sparse._csr": "scipy.sparse.csr",
           "builtins": "__builtin__", "copyreg": "copy_reg"}


class Python2Pickler(pickle._Pickler):
    """Writes str and bytes alike as Python 2's str, and globals by the names that they had."""
    dispatch = dict(pickle._Pickler.dispatch)

    def save_string(self, obj):
        raw = obj if isinstance(obj, bytes) else obj.encode("ascii")
        if self.proto == 0:
            self.write(b"S" + repr(raw)[1:].encode("ascii") + b"\n")
        elif len(raw) < 256:
            self.write(b"U" + bytes([len(raw)]) + raw)
        else:
            self.write(b"T" + len(raw).to_bytes(4, "little") + raw)
        self.memoize(obj)

    def save_global(self, obj, name=None):
        name = name or obj.__qualname__
        module = pickle.whichmodule(obj, name)
        self.write(b"c" + PYTHON2.get(module, module).encode() + b"\n" + name.encode() + b"\n")
        self.memoize(obj)

    dispatch[bytes] = save_string
    dispatch[str] = save_string
    dispatch[type] = save_global
    dispatch[type(copyreg._reconstructor)] = save_global


def python2(protocol):
    def dump(value):
        out = io.BytesIO()
        Python2Pickler(out, protocol).dump(value)
        return out.getvalue()
    return dump


x = np.zeros((10, 4), np.float32)
for i in range(10):
    x[i, i % 4] = 1
    x[i, (i * i + 1) % 4] = 0.5
y = np.eye(3, dtype=np.int32)[[0, 1, 2, 0, 1, 2, 0, 0, 1, 2]]
test = [9, 6, 8]
graph = collections.defaultdict(list)
for i, js in {0: [1, 2], 1: [0, 6], 2: [0, 2, 3], 3: [2, 9, 9], 4: [5], 5: [4, 8], 6: [1], 7: [], 8: [5], 9: [3, 0]}.items():
    graph[i] = js


def write(name, dump, dtype, order="C"):
    os.makedirs("planetoid", exist_ok=True)
    def matrix(rows):
        m = sp.csr_matrix(x[rows])
        m.data = m.data.astype(dtype)  # SciPy makes no big-endian matrix, but old files have them
        return m
    labels = lambda rows: np.array(y[rows], order=order)
    for part, value in {"x": matrix([0, 1]), "allx": matrix(range(6)), "tx": matrix(test), "y": labels([0, 1]),
                        "ally": labels(range(6)), "ty": labels(test), "graph": graph}.items():
        open(f"planetoid/ind.{name}.{part}", "wb").write(dump(value))
    open(f"planetoid/ind.{name}.test.index", "w").write("".join(f"{i}\n" for i in test))


for protocol in range(3):
    write(f"protocol{protocol}", python2(protocol), np.float32)
write("bigendian", python2(2), np.dtype(">f8"), "F")
write("python3", lambda value: pickle.dumps(value, protocol=2), np.float32)
