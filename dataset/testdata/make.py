"""Writes the fixtures of TestSciPyFiles and TestGNNBenchmark with NumPy and SciPy themselves: python make.py

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
write("coo", sp.coo_matrix(adj), lambda d: sp.save_npz(f"{d}/feats.npz", sp.coo_array(x)), int)
write("csc", sp.csc_matrix(adj), lambda d: sp.save_npz(f"{d}/feats.npz", sp.csc_array(x)), int)

# gnn-benchmark: each edge once, but for 0-1, and a self-loop at 4.
once = sp.csr_matrix((np.ones(8, np.float32), ([i for i, j in edges] + [1, 4], [j for i, j in edges] + [0, 4])), shape=(5, 5))
attributes = sp.csr_matrix(x.astype(np.float32))
common = dict(adj_data=once.data, adj_indices=once.indices, adj_indptr=once.indptr, adj_shape=np.array(once.shape),
              labels=np.array(classes))
os.makedirs("gnnbenchmark", exist_ok=True)
np.savez("gnnbenchmark/sparse.npz", **common, attr_data=attributes.data, attr_indices=attributes.indices,
         attr_indptr=attributes.indptr, attr_shape=np.array(attributes.shape),
         node_names=np.array(["a", "bé", "c d", "7", "long name of a node"]), class_names=np.array([b"Phone", b"Camera"]))
np.savez_compressed("gnnbenchmark/dense.npz", **common, attr_matrix=x,
                    node_names=np.array(["a", 1, None, "d", "e"], dtype=object))

# Archives of other origins; node 4 is in no mask.
os.makedirs("npz", exist_ok=True)
masks = {role: np.array([[i in nodes for i in range(5)], [i == 4 for i in range(5)]]) for role, nodes in
         [("train", [0, 3]), ("val", [1]), ("test", [2])]}
np.savez_compressed("npz/heterophilous.npz", edges=np.array(edges + [(1, 0), (4, 4)]), node_features=x, node_labels=np.array(classes),
                    **{f"{role}_masks": m for role, m in masks.items()})
np.savez("npz/pyg.npz", x=x.astype(np.float32), edge_index=np.array([rows, cols]), y=np.array(classes)[:, None],
         **{f"{role}_mask": m[0] for role, m in masks.items()})
weighted = once.copy()
weighted.data[0] = 2
parts = {f"{name}.{part}": np.array(getattr(m, part)) for name, m in [("adj_matrix", weighted), ("node_attr", attributes)]
         for part in ["data", "indices", "indptr", "shape"]}
np.savez("npz/graphdata.npz", **parts, node_label=np.array(classes), **{f"{role}_mask": m[0] for role, m in masks.items()})
np.savez("npz/objects.npz", adj_matrix=np.array(once, dtype=object), node_attr=np.array(attributes, dtype=object), node_label=np.array(classes))
