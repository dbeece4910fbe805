#!/usr/bin/env python3
"""Rivulet and what a team would build instead, on one Kafka, by one harness.

    python tools/peer/stream/run.py SHAPE --programs bin --systems 'rivulet,lean 1,lean 2' [--measure drain,latency,kill] [--rounds 3]

SHAPE is a directory with artifact, prepared and arrivals.jsonl, as all.sh makes them. Kafka and Redis run already (--brokers, --redis).

    drain     arrivals that lie in the topic are answered: arrivals a second by the broker's clock, CPU microseconds an arrival of all
              processes of the system, their memory at the end, seconds from the start to the first answer, and the share of arrivals that
              have the whole graph's class
    latency   milliseconds from the time at which an arrival was due to the receipt of its answer, at each of --rates
    kill      100 arrivals a second; kill -9 of one process after 15 s, started again a second later: lost, doubled, longest silence

Systems take turns, --rounds times; medians are printed with the lowest and the highest, and the load of the machine before each run. --delivery
is at_least_once or exactly_once. All answers are read with read_committed.
"""
import argparse
import json
import multiprocessing
import os
import pathlib
import statistics
import sys
import time

import numpy as np
import orjson
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

import original
import systems

CHECKED = 1000  # arrivals whose whole graph's class is computed


class Topic:
    """The run's topics, made new, and the reader of predictions."""

    def __init__(self, run):
        self.run, self.admin = run, AdminClient({"bootstrap.servers": run.brokers})
        stamps = {"message.timestamp.type": "LogAppendTime"}
        made = self.admin.create_topics([NewTopic(run.arrivals, run.partitions, 1, config={"max.message.bytes": "8388608"}),
                                         NewTopic(run.predictions, run.partitions, 1, config=stamps), NewTopic(run.name + ".dead", 1, 1)])
        for future in made.values():
            future.result()
        self.reader = Consumer({"bootstrap.servers": run.brokers, "group.id": run.name + ".reader", "auto.offset.reset": "earliest",
                                "isolation.level": "read_committed", "enable.auto.commit": False, "fetch.wait.max.ms": 5})
        self.reader.subscribe([run.predictions])

    def read(self, seconds):
        """Predictions as (number of the arrival, milliseconds of the broker, class), those that are there within seconds."""
        answers = []
        for record in self.reader.consume(2000, seconds):
            if record.error():
                continue
            body = json.loads(record.value())
            answers.append((int(body["id"][1:]), record.timestamp()[1], body["class"]))
        return answers

    def close(self):
        self.reader.close()
        self.admin.delete_topics([self.run.arrivals, self.run.predictions, self.run.name + ".dead"])


class Arrivals:
    """Number k is line k of the file again and again, under the id rK, as JSON or Protobuf (event/schema/arrival.proto)."""

    def __init__(self, path):
        self.json, self.protobuf = [], []
        for line in path.read_bytes().splitlines():
            body = json.loads(line)
            del body["id"]
            self.json.append(b"," + orjson.dumps(body)[1:])
            self.protobuf.append(protobuf(body))

    def value(self, k, form):
        rest = getattr(self, form)
        key, rest = b"r%d" % k, rest[k % len(rest)]
        return b'{"id":"%s"%s' % (key, rest) if form == "json" else field(1, key) + rest


def varint(n):
    """n in base 128, the lowest seven bits first."""
    made = bytearray()
    while n > 127:
        made.append(n & 127 | 128)
        n >>= 7
    return bytes(made) + bytes([n])


def field(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body


def protobuf(body):
    """An arrival without its id."""
    f = body["features"]
    if isinstance(f, list):
        features = field(2, field(1, np.array(f, "<f4").tobytes()))
    else:
        values = field(2, np.array(f["values"], "<f4").tobytes()) if "values" in f else b""
        features = field(3, field(1, b"".join(map(varint, f["indices"]))) + values)
    return features + b"".join(field(4, e.encode()) for e in body.get("edges", ()))


def send(run, arrivals, form, count, rate, began):
    """Sends count arrivals; rate 0: at once; else number k is due at began + k/rate, on the clock of the machine."""
    producer = Producer({"bootstrap.servers": run.brokers, "linger.ms": 5 if rate == 0 else 0, "compression.type": "none", "acks": 1,
                         "queue.buffering.max.messages": 200000, "queue.buffering.max.kbytes": 262144})
    headers = [("content-type", b"application/x-protobuf")] if form == "protobuf" else None
    for k in range(count):
        if rate:
            wait = began + k / rate - time.time()
            if wait > 0:
                producer.poll(0)
                time.sleep(wait)
        while True:
            try:
                producer.produce(run.arrivals, arrivals.value(k, form), b"r%d" % k, headers=headers)
                break
            except BufferError:
                producer.poll(0.01)
    producer.flush()


def ready(topic, processes, arrivals, seconds=600):
    """Sends an arrival a second until one is answered, and returns after how many seconds. Its number is -1."""
    began, producer, next_probe = time.time(), Producer({"bootstrap.servers": topic.run.brokers}), 0.0
    while time.time() - began < seconds:
        for p in processes:
            p.check()
        if time.time() >= next_probe:
            producer.produce(topic.run.arrivals, arrivals.value(-1, "json"), b"r-1")
            producer.flush()
            next_probe = time.time() + 1
        if topic.read(0.1):
            took = time.time() - began
            while topic.read(2):  # the other probes
                pass
            return took
    sys.exit(f"{processes[0].command} did not answer within {seconds} s; see {processes[0].log}")


def drain(topic, system, log, arrivals, count, whole):
    send(topic.run, arrivals, system.record_format, count, 0, 0)
    began = time.time()
    processes = system.start(topic.run, log)
    try:
        seen, stamps, first, cpu, last_news = {}, [], None, 0.0, time.time()
        while len(seen) < count:
            answers = topic.read(0.2)
            for k, stamp, c in answers:
                seen[k] = c
                stamps.append(stamp)
            if answers:
                last_news = time.time()
                if first is None:
                    first, cpu, answered = time.time() - began, sum(p.cpu() for p in processes), len(seen)
            elif time.time() - last_news > 600:
                sys.exit(f"{system.name}: {len(seen)} of {count} after 600 s of silence; see {log}")
            for p in processes:
                p.check()
        cpu = sum(p.cpu() for p in processes) - cpu
        memory = sum(p.memory() for p in processes)
    finally:
        for p in processes:
            p.kill()
    stamps.sort()
    low = stamps[len(stamps) // 10]
    return {"arrivals/s": 0.9 * len(stamps) / max(1e-3, (stamps[-1] - low) / 1000), "CPU µs/arrival": cpu / max(1, count - answered) * 1e6,
            "MB": memory / 1e6, "s to the first": first, "% of the whole graph's": 100 * np.mean([seen[k] == c for k, c in enumerate(whole)])}


def latency(topic, system, log, arrivals, rate, seconds):
    processes = system.start(topic.run, log)
    try:
        to_ready = ready(topic, processes, arrivals)
        count, began = int(rate * seconds), time.time() + 1
        sender = multiprocessing.Process(target=send, args=(topic.run, arrivals, system.record_format, count, rate, began))
        sender.start()
        cpu = sum(p.cpu() for p in processes)
        took, until = {}, began + seconds + 30
        while len(took) < count and time.time() < until:
            answers = topic.read(0.002)
            now = time.time()
            for k, _, _ in answers:
                if k >= 0 and k not in took:
                    took[k] = now - began - k / rate
        sender.join()
        cpu = sum(p.cpu() for p in processes) - cpu
    finally:
        for p in processes:
            p.kill()
    counted = [1000 * t for k, t in took.items() if k >= count // 10]  # the first tenth is the start
    p50, p99 = np.percentile(counted, [50, 99]) if counted else (np.nan, np.nan)
    return {"p50 ms": p50, "p99 ms": p99, "max ms": max(counted, default=np.nan), "unanswered": count - len(took), "s to ready": to_ready,
            "CPU µs/arrival": cpu / max(1, len(took)) * 1e6}


def kill(topic, system, log, arrivals, rate=100, seconds=60):
    processes = system.start(topic.run, log)
    try:
        ready(topic, processes, arrivals)
        count, began = rate * seconds, time.time() + 1
        sender = multiprocessing.Process(target=send, args=(topic.run, arrivals, system.record_format, count, rate, began))
        sender.start()
        times, silence, last, state = {}, 0.0, began, "runs"
        until = began + seconds + 120
        while time.time() < until and (len(times) < count or time.time() < began + seconds + 5):
            answers, now = topic.read(0.02), time.time()
            if any(k >= 0 for k, _, _ in answers):
                silence, last = max(silence, now - last), now
            for k, _, _ in answers:
                if k >= 0:
                    times[k] = times.get(k, 0) + 1
            if state == "runs" and now > began + 15:
                processes[0].kill()
                state = "killed"
            elif state == "killed" and now > began + 16:
                processes[0].start()
                state = "again"
        sender.join()
    finally:
        for p in processes:
            p.kill()
    return {"lost": count - len(times), "doubled": sum(times.values()) - len(times), "longest silence s": silence}


def whole_classes(shape, arrivals):
    """Classes of the first arrivals by SGC on T with each of them joined alone."""
    prepared = shape / "prepared"
    import scipy.sparse as sp
    import answer
    model, graph = answer.TablesSGC(prepared), np.load(prepared / "graph.npz")
    adj = sp.csr_matrix((np.ones(len(graph["indices"]), np.float32), graph["indices"], graph["indptr"]))
    z = graph["x"] @ model.w
    checked = [json.loads(arrivals.value(k, "json")) for k in range(CHECKED)]
    places, sizes = model.neighbours(checked)
    own = model.preprocess(model.raw(checked)) @ model.w
    return [int(np.argmax(original.sgc_alone(adj, z, places[end - n:end], own[i], model.b)))
            for i, (end, n) in enumerate(zip(sizes.cumsum(), sizes))]


def short(value):
    """Three figures, without an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def show(title, names, rounds):
    """A line a system: the median of its rounds, and the lowest and highest."""
    print(f"\n{title}")
    columns = list(next(r[0] for r in rounds.values() if r))
    cells = [["", *columns]]
    for name in names:
        if rounds.get(name):
            values = {c: [r[c] for r in rounds[name]] for c in columns}
            cells.append([name, *(f"{short(statistics.median(v))} ({short(min(v))} to {short(max(v))})" for v in values.values())])
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    for row in cells:
        print("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shape", type=pathlib.Path)
    parser.add_argument("--programs", required=True, help="directory of consumer, trainer and rivulet")
    parser.add_argument("--systems", default="rivulet,lean 1,lean 2", help="with commas between; all: every one")
    parser.add_argument("--measure", default="drain,latency,kill")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=100000, help="arrivals of a drain; the first tenth is not counted")
    parser.add_argument("--slow-count", type=int, default=5000, help="arrivals of a drain of the designs with keyed state")
    parser.add_argument("--rates", default="100,1000,10000", help="arrivals a second, for latency")
    parser.add_argument("--seconds", type=float, default=20, help="of each rate")
    parser.add_argument("--delivery", choices=["at_least_once", "exactly_once"], default="at_least_once")
    parser.add_argument("--brokers", default="localhost:9092")
    parser.add_argument("--redis", default="redis://localhost:6379/0")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--out", type=pathlib.Path, help="directory of logs and results.json; default: SHAPE/runs")
    args = parser.parse_args()
    known = systems.all_systems(args.programs)
    names = list(known) if args.systems == "all" else args.systems.split(",")
    for name in names:
        if name not in known:
            parser.error(f"--systems: {name!r}, known are {', '.join(known)}")
    out = args.out or args.shape / "runs"
    out.mkdir(parents=True, exist_ok=True)
    arrivals = Arrivals(args.shape / "arrivals.jsonl")
    whole = whole_classes(args.shape, arrivals)
    jobs = []
    for measure in args.measure.split(","):
        jobs += [(measure, float(r)) for r in args.rates.split(",")] if measure == "latency" else [(measure, 0.0)]
    results = {}
    for turn in range(args.rounds):
        for measure, rate in jobs:
            for name in names:
                system = known[name]
                run = systems.Run(args.shape.resolve(), args.brokers, args.redis, f"peer-{os.getpid()}-{turn}-{len(results)}-{name.replace(' ', '-')}-{measure}-{rate:.0f}",
                                  args.delivery == "exactly_once", args.partitions)
                system.prepare(run)
                topic, log = Topic(run), out / f"{run.name}.log"
                load = os.getloadavg()[0]
                try:
                    if measure == "drain":
                        count = args.slow_count if system.slow else args.count
                        figures = drain(topic, system, log, arrivals, count, whole)
                    elif measure == "latency":
                        figures = latency(topic, system, log, arrivals, rate, args.seconds)
                    else:
                        figures = kill(topic, system, log, arrivals)
                finally:
                    topic.close()
                title = measure if measure != "latency" else f"latency at {rate:.0f} arrivals/s"
                results.setdefault(title, {}).setdefault(name, []).append(figures)
                print(f"round {turn + 1}, {title}, {name} (load before: {load:.1f}): "
                      + ", ".join(f"{k} {short(v)}" for k, v in figures.items()), file=sys.stderr, flush=True)
                (out / "results.json").write_text(json.dumps(results, indent=1))
    with open("/proc/cpuinfo") as f:
        processor = next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    print(f"{processor}, {os.cpu_count()} cores; {args.shape.name}, {args.delivery}, {args.rounds} rounds, {args.partitions} partitions")
    for title, rounds in results.items():
        show(title, names, rounds)


if __name__ == "__main__":
    main()
