#!/usr/bin/env python3
"""rivulet serve beside FastAPI, uvicorn and PyTorch, with the same artifact on the same cores, in open loop.

    go build -o bin/ ./cmd/rivulet ./tools/peer/load
    python tools/peer/answering.py DIR --rivulet bin/rivulet --load bin/load

DIR has artifact/ and arrivals.jsonl, as for serving.py. Both servers run; load is sent to the one and the other in turn, five
times: requests of 64 arrivals at more than either can take, which gives the throughput, and of one arrival at a rate that
both can take, which gives the latency. Before that the answers are compared. FastAPI answers in two ways, checked by models of
Pydantic and unchecked (fastapi_app.py). CPU is that of the server's processes alone, without the load's.

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


def cpu_seconds(pid):
    """User and system time of a process and of those that it started, so far."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + sum(cpu_seconds(c) for c in children)


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
                             "--serve.listen", f"127.0.0.1:{args.port}", "--log.level", "warn"])
    theirs = subprocess.Popen([sys.executable, "-m", "uvicorn", "fastapi_app:app", "--port", str(args.port + 1), "--workers", str(args.workers),
                               "--log-level", "warning"], cwd=here,
                              env={**os.environ, "RIVULET_PEER_DIRECTORY": os.path.abspath(args.directory), "RIVULET_PEER_MODEL": args.model})
    theirs_at = f"http://127.0.0.1:{args.port + 1}"
    urls = {"rivulet serve": f"http://127.0.0.1:{args.port}/predict", "FastAPI": theirs_at + "/predict", "FastAPI, unchecked": theirs_at + "/unchecked"}
    of = {name: ours if name == "rivulet serve" else theirs for name in urls}
    try:
        answers = [await_up(url, lines[:500], of[name]) for name, url in urls.items()]
        furthest = max(abs(a["probability"] - b["probability"]) for other in answers[1:] for a, b in zip(answers[0], other))
        if len({len(a) for a in answers}) != 1 or not furthest <= 1e-5:
            sys.exit(f"answering: probabilities are {furthest:.1e} apart, want 1e-5")
        print(f"{len(answers[0])} arrivals: probabilities at most {furthest:.1e} apart", file=sys.stderr)
        measured = {name: {"64": [], "1": []} for name in urls}
        for url in urls.values():  # connections, caches, kernels of PyTorch
            loaded(args, url, 64, 50, 4)
        for _ in range(args.rounds):
            for name, url in urls.items():
                before = cpu_seconds(of[name].pid)
                m = loaded(args, url, 64, 1e6, 8)
                m["cpu"] = (cpu_seconds(of[name].pid) - before) / (64 * m["requests"]) * 1e6
                measured[name]["64"].append(m)
            for name, url in urls.items():
                measured[name]["1"].append(loaded(args, url, 1, args.rate, 16))
    finally:
        for process in (ours, theirs):
            process.terminate()
        for process in (ours, theirs):
            process.wait()
    rows, ratios = [], []
    for name, m in measured.items():
        rows.append((name, {"arrivals/s at 64": statistics.median(r["arrivals_per_second"] for r in m["64"]),
                            "CPU µs/arrival": statistics.median(r["cpu"] for r in m["64"]),
                            "p50 ms at 1": statistics.median(r["p50_ms"] for r in m["1"]), "p99 ms at 1": statistics.median(r["p99_ms"] for r in m["1"]),
                            "errors": sum(r["errors"] for r in m["64"] + m["1"])}))
        for what, size, key in (("throughput", "64", "arrivals_per_second"), ("CPU", "64", "cpu"), ("p99", "1", "p99_ms")):
            turns = [a[key] / b[key] for a, b in zip(measured["rivulet serve"][size], m[size])]
            if name != "rivulet serve":
                ratios.append(f"{what} of rivulet serve as a multiple of {name}'s, by turn: " + ", ".join(table.short(r) for r in turns))
    print(table.machine() + "\n")
    table.show("Answers on request", ["arrivals/s at 64", "CPU µs/arrival", "p50 ms at 1", "p99 ms at 1", "errors"], rows)
    print("\n".join(ratios))


if __name__ == "__main__":
    main()
