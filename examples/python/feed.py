"""Print predictions as they come: python feed.py BROKERS COUNT."""

import sys
from itertools import islice

from rivulet_mcond.kafka import follow_predictions


def main(brokers: str, count: str) -> None:
    """Print so many predictions of the topic, as a member of the group feed-python."""
    for prediction in islice(follow_predictions(brokers, group="feed-python"), int(count)):
        print(prediction["id"], prediction["class"], prediction["probability"])


if __name__ == "__main__":
    main(*sys.argv[1:])
