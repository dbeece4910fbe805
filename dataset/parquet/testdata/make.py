"""Writes the fixtures of TestPyArrow with pyarrow: python make.py

One graph of five nodes, as list column and as columns, in the forms that pyarrow, pandas and others write.
"""
import os
import pyarrow as pa, pyarrow.parquet as pq

os.chdir(os.path.dirname(os.path.abspath(__file__)))
ids, labels = ["anna", "b,ob", "7", "eve", "zoë"], ["10", "9", "10", "9", None]
split = ["train", "validation", "test", "un", None]
x = [[30, 1.75], [-20, 0], [0.5, 1], [1, 2], [3, 4]]
source, target = ["anna", "7", "eve", "zoë", "anna"], ["7", "anna", "b,ob", "zoë", "7"]


def write(name, nodes, edges, **how):
    os.makedirs(name, exist_ok=True)
    pq.write_table(pa.table(nodes), f"{name}/nodes.parquet", **how)
    pq.write_table(pa.table(edges), f"{name}/edges.parquet", **how)


lists = pa.array(x, pa.list_(pa.float32()))
edges = {"source": source, "target": target}
write("lists", {"id": ids, "features": lists, "label": labels, "split": split, "city": ids}, edges)
write("columns", {"id": ids, "label": labels, "age": pa.array([r[0] for r in x], pa.float64()),
                  "height": pa.array([r[1] for r in x], pa.float32()), "split": split}, edges, compression="zstd")
write("v2", {"id": ids, "features": lists, "label": labels, "split": split}, {**edges, "weight": pa.array([1] * 5, pa.int8())},
      data_page_version="2.0", compression="gzip", row_group_size=2)
write("plain", {"id": ids, "features": pa.array(x, pa.list_(pa.float64())), "label": pa.array([10.0, 9, 10, 9, float("nan")]),
                "split": pa.array(split).dictionary_encode()}, edges, use_dictionary=False, compression="none", data_page_size=1)
write("delta", {"id": ids, "features": lists, "label": pa.array([10, 9, 10, 9, None], pa.int32()), "split": split},
      {**edges, "weight": pa.array([1.0] * 5)}, use_dictionary=False, data_page_version="2.0",
      column_encoding={"id": "DELTA_LENGTH_BYTE_ARRAY", "label": "DELTA_BINARY_PACKED", "features.list.element": "BYTE_STREAM_SPLIT",
                       "split": "PLAIN", "source": "DELTA_LENGTH_BYTE_ARRAY", "target": "PLAIN", "weight": "BYTE_STREAM_SPLIT"})
os.makedirs("refused", exist_ok=True)
pq.write_table(pa.table({"id": ids}), "refused/delta_byte_array.parquet", use_dictionary=False, column_encoding={"id": "DELTA_BYTE_ARRAY"})
pq.write_table(pa.table({"id": ids}), "refused/brotli.parquet", compression="brotli")
pq.write_table(pa.table({"id": [True, False, True, True] * 50}), "refused/rle_bool.parquet", data_page_version="2.0", use_dictionary=False)
