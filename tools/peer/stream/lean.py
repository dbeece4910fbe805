#!/usr/bin/env python3
"""The lean rival: what a good engineer builds in an afternoon. One process of Python, a member of a consumer group.

    python tools/peer/stream/lean.py PREPARED --brokers localhost:9092 --in arrivals --out predictions [--exactly-once] [--model sage]

confluent-kafka fetches up to --batch records, orjson parses them, answer.py answers them as one batch, and the offsets are
committed once the predictions are with the broker. With --exactly-once predictions and offsets are one transaction a batch. Start it
as often as there are cores. A record that is no arrival ends it: a rival is not asked for more than the comparison needs.
"""
import argparse
import os
import signal
import time

import orjson
from confluent_kafka import Consumer, Producer

import answer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prepared", help="what original.py wrote")
    parser.add_argument("--brokers", default="localhost:9092")
    parser.add_argument("--in", dest="arrivals", default="arrivals")
    parser.add_argument("--out", default="predictions")
    parser.add_argument("--group", default="lean")
    parser.add_argument("--model", choices=sorted(answer.MODELS), default="sgc")
    parser.add_argument("--batch", type=int, default=1000, help="records at most")
    parser.add_argument("--exactly-once", action="store_true")
    args = parser.parse_args()
    model = answer.MODELS[args.model](args.prepared)
    settings = {"bootstrap.servers": args.brokers, "linger.ms": 0, "acks": "all", "enable.idempotence": True}
    if args.exactly_once:
        settings["transactional.id"] = f"{args.group}-{os.getpid()}"
    producer = Producer(settings)
    if args.exactly_once:
        producer.init_transactions()
    consumer = Consumer({"bootstrap.servers": args.brokers, "group.id": args.group, "auto.offset.reset": "earliest", "enable.auto.commit": False,
                         "isolation.level": "read_committed", "fetch.wait.max.ms": 100, "fetch.min.bytes": 1, "queued.min.messages": 5000,
                         "queued.max.messages.kbytes": 65536, "session.timeout.ms": 10000})
    consumer.subscribe([args.arrivals])
    running = [True]
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda *_: running.clear())
    while running:
        first = consumer.poll(0.1)
        if first is None or first.error():
            continue
        records = [first, *(r for r in consumer.consume(args.batch - 1, 0) if not r.error())]
        arrivals = [orjson.loads(r.value()) for r in records]
        best, probability = model.predictions(arrivals)
        if args.exactly_once:
            producer.begin_transaction()
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for record, arrival, c, p in zip(records, arrivals, best.tolist(), probability.tolist()):
            producer.produce(args.out, orjson.dumps({"id": arrival["id"], "class": c, "class_name": model.classes[c], "probability": p, "time": now}),
                             record.key())
        if args.exactly_once:
            producer.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata())
            producer.commit_transaction()
        else:
            producer.flush()
            consumer.commit(asynchronous=False)
    consumer.close()


if __name__ == "__main__":
    main()
