"""Send arrivals from a file of JSON lines: python producer.py BROKERS FILE."""

import sys

from rivulet_mcond import Arrival
from rivulet_mcond.kafka import Sender


def main(brokers: str, file: str) -> None:
    """Send each line, checked, under the node's id."""
    sent = 0
    with open(file, "rb") as lines, Sender(brokers) as sender:  # the end of the block waits for Kafka
        for line in lines:
            sender.send(Arrival.from_json(line))
            sent += 1
    print(f"{sent} arrivals sent")


if __name__ == "__main__":
    main(*sys.argv[1:])
