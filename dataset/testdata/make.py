"""Writes the fixtures of TestSciPyFiles with NumPy and SciPy themselves: python make.py

One graph, the ring 0-1-2-3-4-0 with the chord 0-2, in the forms that these libraries write.
"""
import json, os
import numpy as np, scipy.sparse as sp

os.chdir(os.path.dirname(os.path.abspath(__file__)))
edges = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (0, 2)]
rows = [i for i, j in edges] + [j for i, j in edges]
cols = [j for i, j in edges] + [i for i, j in edges]
adj = sp.csr_matrix((np.ones(len(rows)), (rows, cols)), shape=(5, 5))
x = np.array([[1.5, 0, 0], [0, -2, 0], [0, 0, 0], [0.25, 0, 3], [0, 1, 0]])
classes = [0, 1, 0, 1, 0]


def write(name, adj, save_features, class_of, compressed=True):
    os.makedirs(name, exist_ok=True)
    sp.save_npz(f"{name}/adj_full.npz", adj, compressed=compressed)
    save_features(name)
    json.dump({str(i): class_of(c) for i, c in enumerate(classes)}, open(f"{name}/class_map.json", "w"))
    json.dump({"tr": [0, 3], "va": [1], "te": [2, 4]}, open(f"{name}/role.json", "w"))


wide = adj.astype(bool)
wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
write("sparse", adj.astype(np.float32), lambda d: sp.save_npz(f"{d}/feats.npz", sp.csr_matrix(x)), int)
write("sparse_array", sp.csr_array(wide), lambda d: sp.save_npz(f"{d}/feats.npz", sp.csr_array(x), compressed=False),
      lambda c: [int(c == k) for k in range(2)], compressed=False)
write("dense", adj.astype(np.int32), lambda d: np.save(f"{d}/feats.npy", x), int)
write("dense_fortran", adj, lambda d: np.save(f"{d}/feats.npy", np.asfortranarray(x.astype(np.float32))), int)
