#!/usr/bin/env python3
"""rivulet serve beside FastAPI, uvicorn and PyTorch, with the same artifact on the same cores, in open loop.

    go build -o bin/ ./cmd/rivulet ./tools/peer/load
    python tools/peer/answering.py DIR --rivulet bin/rivulet --load bin/load

DIR has artifact/ and arrivals.jsonl, as for serving.py. Both servers run; load is sent to the one and the other in turn, five
times: requests of 64 arrivals at more than either can take, which gives the throughput, and of one arrival at a rate that
both can take, which gives the latency. Before that the answers are compared.

Needs torch, numpy, safetensors, fastapi, uvicorn[standard] and orjson.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import urllib.request

import table


def post(url, arrivals):
    r = urllib.request.Request(url, json.dumps(arrivals).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(r) as answer:
        return json.load(answer)


def await_up(url, arrivals, process, seconds=60):
    until = time.monotonic() + seconds
    while True:
        try:
            return post(url, arrivals)
        except OSError:
            if process.poll() is not None or time.monotonic() > until:
                sys.exit(f"answering: nothing answers at {url}")
            time.sleep(0.2)


def loaded(args, url, batch, rate, connections):
    out = subprocess.run([args.load, "-url", url, "-arrivals", f"{args.directory}/arrivals.jsonl", "-batch", str(batch), "-rate", str(rate),
                          "-connections", str(connections), "-for", f"{args.time}s"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", help="has artifact/ and arrivals.jsonl")
    parser.add_argument("--rivulet", required=True, help="the program rivulet")
    parser.add_argument("--load", required=True, help="the program of tools/peer/load")
    parser.add_argument("--model", default="sgc")
    parser.add_argument("--rounds", type=int, default=5, help="turns")
    parser.add_argument("--time", type=float, default=3, help="seconds of each load")
    parser.add_argument("--rate", type=float, default=100, help="requests a second of one arrival")
    parser.add_argument("--workers", type=int, default=2, help="processes of uvicorn; each has one thread of PyTorch")
    parser.add_argument("--port", type=int, default=18500, help="of rivulet serve; FastAPI has the next one")
    args = parser.parse_args()
    lines = [json.loads(line) for line in open(f"{args.directory}/arrivals.jsonl")]
    here = pathlib.Path(__file__).parent
    ours = subprocess.Popen([args.rivulet, "serve", "--artifact", f"{args.directory}/artifact", "--model", args.model, "--calibration", "none",
                             "--serve.address", f"127.0.0.1:{args.port}", "--log.level", "warn"])
    theirs = subprocess.Popen([sys.executable, "-m", "uvicorn", "fastapi_app:app", "--port", str(args.port + 1), "--workers", str(args.workers),
                               "--log-level", "warning"], cwd=here,
                              env={**os.environ, "RIVULET_PEER_DIRECTORY": os.path.abspath(args.directory), "RIVULET_PEER_MODEL": args.model})
    urls = {"rivulet serve": f"http://127.0.0.1:{args.port}/predict", "FastAPI": f"http://127.0.0.1:{args.port + 1}/predict"}
    try:
        answers = [await_up(url, lines[:500], process) for url, process in zip(urls.values(), (ours, theirs))]
        furthest = max(abs(a["probability"] - b["probability"]) for a, b in zip(*answers))
        if len(answers[0]) != len(answers[1]) or not furthest <= 1e-5:
            sys.exit(f"answering: probabilities are {furthest:.1e} apart, want 1e-5")
        print(f"{len(answers[0])} arrivals: probabilities at most {furthest:.1e} apart", file=sys.stderr)
        measured = {name: {"64": [], "1": []} for name in urls}
        for url in urls.values():  # connections, caches, kernels of PyTorch
            loaded(args, url, 64, 50, 4)
        for _ in range(args.rounds):
            for name, url in urls.items():
                measured[name]["64"].append(loaded(args, url, 64, 1e6, 8))
            for name, url in urls.items():
                measured[name]["1"].append(loaded(args, url, 1, args.rate, 16))
    finally:
        for process in (ours, theirs):
            process.terminate()
        for process in (ours, theirs):
            process.wait()
    rows = []
    for name, of in measured.items():
        rows.append((name, {"arrivals/s at 64": statistics.median(m["arrivals_per_second"] for m in of["64"]),
                            "p50 ms at 1": statistics.median(m["p50_ms"] for m in of["1"]), "p99 ms at 1": statistics.median(m["p99_ms"] for m in of["1"]),
                            "errors": sum(m["errors"] for m in of["64"] + of["1"])}))
    rates = [[m["arrivals_per_second"] for m in measured[name]["64"]] for name in urls]
    tails = [[m["p99_ms"] for m in measured[name]["1"]] for name in urls]
    print(table.machine() + "\n")
    table.show("Answers on request", ["arrivals/s at 64", "p50 ms at 1", "p99 ms at 1", "errors"], rows)
    print("times FastAPI's throughput, by turn: " + ", ".join(f"{a / b:.1f}" for a, b in zip(*rates)))
    print("share of FastAPI's p99, by turn: " + ", ".join(f"{a / b:.2f}" for a, b in zip(*tails)))


if __name__ == "__main__":
    main()
