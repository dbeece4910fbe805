"""Arrivals sent to Kafka, and predictions read from it. Needs confluent-kafka."""

from __future__ import annotations

import json
import logging
import time as clock
import uuid
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

from .arrivals import Arrival

if TYPE_CHECKING:
    import pandas as pd

CONTENT_TYPE = "application/json"

_log = logging.getLogger(__name__)


class SendError(RuntimeError):
    """Kafka did not take an arrival."""


class Sender:
    """A producer of arrivals: the key is the id, the value JSON. As a context manager it flushes at its end.

    Partitions are chosen as Java's clients choose them, and a repeated request is written once (idempotence).
    """

    def __init__(
        self,
        brokers: str,
        topic: str = "arrivals",
        *,
        schema_hash: str | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """Connect to brokers (host:port, several by commas).

        schema_hash is that of the artifact's schema that the features were made for, and goes into the header
        `rivulet-schema`; config are further settings of confluent-kafka, such as TLS and a login.
        """
        settings: dict[str, Any] = {
            "bootstrap.servers": brokers,
            "acks": "all",
            "enable.idempotence": True,
            "partitioner": "murmur2_random",
        }
        self._producer = Producer({**settings, **(config or {})})
        self._topic = topic
        self._headers: list[tuple[str, str | bytes | None]] = [("content-type", CONTENT_TYPE)]
        if schema_hash is not None:
            self._headers.append(("rivulet-schema", schema_hash))
        self._failed: str | None = None

    def send(self, *arrivals: Arrival) -> None:
        """Queue arrivals; raises SendError if an earlier one was refused. `flush` waits for all."""
        for arrival in arrivals:
            while True:
                try:
                    self._producer.produce(
                        self._topic,
                        key=arrival.id.encode(),
                        value=arrival.to_json(),
                        headers=self._headers,
                        on_delivery=self._delivered,
                    )
                    break
                except BufferError:  # the queue is full
                    self._producer.poll(0.1)
            self._producer.poll(0)
        self._check()

    def flush(self, timeout: float = 60) -> None:
        """Wait until Kafka has all arrivals; raises SendError if it refused one or is not done in time."""
        left = self._producer.flush(timeout)
        self._check()
        if left:
            raise SendError(f"{left} arrivals were not acknowledged within {timeout:g} s")

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None and self._failed is None:
            self._failed = f"arrival {message.key().decode(errors='replace')}: {error}"

    def _check(self) -> None:
        if self._failed is not None:
            raise SendError(self._failed)

    def __enter__(self) -> Sender:
        """Return the sender."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Flush, unless an error is on its way already."""
        if kind is None:
            self.flush()


def read_predictions(
    brokers: str,
    topic: str = "predictions",
    *,
    committed: bool = True,
    count: int | None = None,
    timeout: float = 30,
    config: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Return the predictions of a topic as a table (`frames.predictions_frame`). Needs pandas.

    It reads from the beginning to where the topic ends now, or, with a count, waits for that many. Predictions
    of aborted transactions are left out, unless committed is False, and so are records that are no predictions
    in JSON (`prediction_of`). No offsets are committed: a second call reads the same again. Raises TimeoutError
    if it takes longer than so many seconds.
    """
    from .frames import predictions_frame

    settings = {**(config or {}), "enable.auto.commit": False}
    consumer = _consumer(brokers, f"rivulet-mcond-{uuid.uuid4()}", committed, settings)
    try:
        return predictions_frame(_to_the_end(consumer, topic, count, clock.monotonic() + timeout))
    finally:
        consumer.close()


def _to_the_end(consumer: Consumer, topic: str, count: int | None, deadline: float) -> list[bytes]:
    metadata = consumer.list_topics(topic, timeout=max(0.1, deadline - clock.monotonic())).topics[topic]
    if metadata.error is not None:
        raise KafkaException(metadata.error)
    partitions = [TopicPartition(topic, p, OFFSET_BEGINNING) for p in metadata.partitions]
    open_ends = set()
    for p in partitions:
        low, high = consumer.get_watermark_offsets(p, timeout=10)
        if high > low:
            open_ends.add(p.partition)
    consumer.assign(partitions)
    values: list[bytes] = []
    while len(values) < count if count is not None else open_ends:
        if clock.monotonic() > deadline:
            wanted = "the end of the topic" if count is None else f"{count} predictions"
            raise TimeoutError(f"{len(values)} predictions of {topic} were read in time, but not {wanted}")
        message = consumer.poll(0.2)
        if message is None:
            continue
        error = message.error()
        if error is None:
            value = message.value()
            if value is not None and prediction_of(message) is not None:
                values.append(value)
        elif error.code() == KafkaError._PARTITION_EOF:
            open_ends.discard(message.partition())
        elif not error.retriable():
            raise KafkaException(error)
    return values


def follow_predictions(
    brokers: str,
    topic: str = "predictions",
    *,
    group: str,
    committed: bool = True,
    config: Mapping[str, Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield predictions as they come, as objects with the fields of event/README.md, for a feed.

    A member of the consumer group goes on where the group stood. A prediction is done when the next one is asked
    for: after a crash the last ones come again, and `source` tells which. Records that are no predictions in
    JSON are passed over (`prediction_of`).
    """
    consumer = _consumer(brokers, group, committed, {**(config or {}), "enable.auto.offset.store": False})
    try:
        consumer.subscribe([topic])
        while True:
            message = consumer.poll(1.0)
            if message is None:
                continue
            error = message.error()
            if error is None:
                prediction = prediction_of(message)
                if prediction is not None:
                    yield prediction
                consumer.store_offsets(message=message)
            elif error.code() != KafkaError._PARTITION_EOF and not error.retriable():
                raise KafkaException(error)
    finally:
        consumer.close()


def prediction_of(message: Any) -> dict[str, Any] | None:
    """Return the prediction of a record of confluent-kafka; None for a record that is none.

    A record without a value is a tombstone, by which a compacted topic forgets a key. A record of another
    content-type, a dead letter, and a value that is no prediction in JSON become warnings of the log.
    """
    value = message.value()
    if value is None:
        return None
    headers = {name: text or b"" for name, text in message.headers() or ()}
    kind = headers.get("content-type", b"").decode(errors="replace").split(";")[0].strip().strip('"').lower()
    if "rivulet-reason" in headers:
        problem = "it is a dead letter, of the reason " + headers["rivulet-reason"].decode(errors="replace")
    elif kind not in ("", CONTENT_TYPE):
        problem = f"its content-type is {kind}, and {CONTENT_TYPE} is read"
    else:
        try:
            said = json.loads(value)
            if isinstance(said, dict) and "id" in said and isinstance(said.get("source"), dict):
                return said
            problem = "it is no prediction: want an object with id and source"
        except ValueError as error:
            problem = f"it is no JSON: {error}"
    _log.warning(
        "the record at %s/%d/%d is passed over: %s",
        message.topic(),
        message.partition(),
        message.offset(),
        problem,
    )
    return None


def _consumer(brokers: str, group: str, committed: bool, config: Mapping[str, Any]) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            **config,
        }
    )


def send(
    arrivals: Iterable[Arrival], brokers: str, topic: str = "arrivals", *, schema_hash: str | None = None
) -> int:
    """Send arrivals and return how many, when Kafka has them all."""
    sent = 0
    with Sender(brokers, topic, schema_hash=schema_hash) as sender:
        for arrival in arrivals:
            sender.send(arrival)
            sent += 1
    return sent
