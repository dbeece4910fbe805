#!/usr/bin/env python3
"""The model server behind the job of flink/: PyTorch behind a Unix socket, binary requests of whole batches, a thread a connection.

    python tools/peer/stream/server.py PREPARED SOCKET --design thin|tables|state

A request is little endian: its length in bytes without these four (int32), the number of arrivals n, n numbers of neighbours k_i (int32);
then, by design,

    thin, tables   Σk_i ids of neighbours (int32), features n×d (float32)
    state          features n×d, of the neighbours Σk_i×d, of the means of their neighbours Σk_i×d (float32; the arrival's raw, the rest as the
                   model reads them)

and the answer is n classes (int32) and n probabilities (float32). thin has T in memory and runs GraphSAGE on 25 neighbours and ten of each; state is
the same on what the job sends; tables adds up T's own tables of SGC.
"""
import argparse
import os
import pathlib
import socket
import struct
import threading

import numpy as np
import torch

import answer


class Sampled(answer.Model):
    """GraphSAGE of two layers on a sampled neighbourhood, without anything kept."""

    name = "sage"

    def __init__(self, directory, walks):
        super().__init__(directory)
        for key in ("ws1", "b1", "wn2", "ws2", "b2", "wn1"):
            setattr(self, key, torch.from_numpy(getattr(self, key)))
        if walks:
            graph = np.load(pathlib.Path(directory) / "graph.npz")
            self.x, self.indptr, self.adjacent = torch.from_numpy(graph["x"]), graph["indptr"], graph["indices"].astype(np.int64)

    def run(self, x, sizes, x1, mean2):
        """Logits: features of arrivals n×d, of neighbours Σk×d and of the means of theirs."""
        of = torch.repeat_interleave(torch.arange(len(sizes)), torch.from_numpy(sizes))
        count = torch.from_numpy(np.maximum(sizes, 1).astype(np.float32))[:, None]
        mean = lambda rows: torch.zeros(len(sizes), rows.shape[1]).index_add_(0, of, rows) / count
        first = (mean2 @ self.wn1 + x1 @ self.ws1 + self.b1).relu()
        own = (mean(x1) @ self.wn1 + x @ self.ws1 + self.b1).relu()
        return (mean(first) @ self.wn2 + own @ self.ws2 + self.b2).numpy()

    def walk(self, places, sizes, random):
        """At most 25 neighbours of each, the features of these, and the means of ten of their neighbours (drawn with repetition)."""
        ends = sizes.cumsum()
        rows = [places[e - n:e] if n <= 25 else random.choice(places[e - n:e], 25, replace=False) for e, n in zip(ends, sizes)]
        sizes, chosen = np.minimum(sizes, 25), np.concatenate([*rows, np.empty(0, np.int64)])
        degrees = self.indptr[chosen + 1] - self.indptr[chosen]
        drawn = self.indptr[chosen][:, None] + (random.random((len(chosen), 10)) * degrees[:, None]).astype(np.int64)
        second = self.adjacent[np.minimum(drawn, len(self.adjacent) - 1)]
        mean2 = torch.nn.functional.embedding_bag(torch.from_numpy(second), self.x, mode="mean")
        mean2[torch.from_numpy(degrees == 0)] = 0
        return sizes, self.x[torch.from_numpy(chosen)], mean2


class Server:
    def __init__(self, design, prepared):
        self.design = design
        self.model = answer.TablesSGC(prepared) if design == "tables" else Sampled(prepared, design == "thin")
        ids = np.array(list(self.model.index), np.int64)  # numbers: nodes.bin has them so
        self.place = np.full(ids.max() + 1, -1, np.int64)
        self.place[ids] = np.arange(len(ids))

    def answer(self, body, random):
        n, d = int(np.frombuffer(body, "<i4", 1)[0]), self.model.features
        sizes, at = np.frombuffer(body, "<i4", n, 4).astype(np.int64), 4 + 4 * n
        total = int(sizes.sum())
        if self.design != "state":
            ids, at = np.frombuffer(body, "<i4", total, at), at + 4 * total
        raw, at = np.frombuffer(body, "<f4", n * d, at).reshape(n, d), at + 4 * n * d
        x = np.ascontiguousarray(self.model.preprocess(raw), np.float32)
        if self.design == "tables":
            logits = self.model.from_neighbours(self.place[ids], sizes, x)
        elif self.design == "thin":
            logits = self.model.run(torch.from_numpy(x), *self.model.walk(self.place[ids], sizes, random))
        else:
            x1 = torch.from_numpy(np.frombuffer(body, "<f4", total * d, at).reshape(total, d).copy())
            mean2 = torch.from_numpy(np.frombuffer(body, "<f4", total * d, at + 4 * total * d).reshape(total, d).copy())
            logits = self.model.run(torch.from_numpy(x), sizes, x1, mean2)
        best, probability = self.model.chosen(logits)
        return best.astype("<i4").tobytes() + probability.astype("<f4").tobytes()

    def serve(self, connection, seed):
        """Answers the requests of one connection until it ends."""
        random = np.random.default_rng(seed)
        with connection, connection.makefile("rb", 1 << 20) as reader, torch.no_grad():
            while head := reader.read(4):
                connection.sendall(self.answer(reader.read(struct.unpack("<i", head)[0]), random))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prepared", help="what original.py wrote")
    parser.add_argument("socket")
    parser.add_argument("--design", choices=["thin", "tables", "state"], required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    server = Server(args.design, args.prepared)
    if os.path.exists(args.socket):
        os.unlink(args.socket)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(args.socket)
        listener.listen()
        for seed in range(1 << 30):
            threading.Thread(target=server.serve, args=(listener.accept()[0], seed), daemon=True).start()


if __name__ == "__main__":
    main()
