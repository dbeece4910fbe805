"""Arrivals sent to Kafka, and predictions read from it. Needs confluent-kafka."""

from __future__ import annotations

import json
import logging
import time as clock
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)

from ._columns import identity
from ._event import SENTENCES
from .arrivals import Arrival, NodeId

if TYPE_CHECKING:
    import pandas as pd

CONTENT_TYPE = "application/json"

_log = logging.getLogger(__name__)


class SendError(RuntimeError):
    """Kafka did not take an arrival."""


class BrokersError(ConnectionError):
    """No broker answers."""


class _Trouble:
    """What librdkafka says of its connections: one warning in half a minute, and no lines of its own.

    It would write a line to standard error for each attempt to connect, without naming what cannot be reached.
    """

    def __init__(self, brokers: str) -> None:
        """Remember the addresses for messages."""
        self._brokers, self._warned, self._last = brokers, 0.0, ""
        self._logger = logging.Logger("librdkafka")  # of its own, without handlers of others
        self._logger.addHandler(logging.NullHandler())
        self._logger.addFilter(self._note)

    def settings(self) -> dict[str, Any]:
        """Return settings of confluent-kafka."""
        return {"error_cb": self._error, "logger": self._logger}

    def _note(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if "FAIL" in text or "ERROR" in text or "brokers are down" in text:
            self._last = text.rsplit("]: ", 1)[-1]
        else:
            _log.log(record.levelno, "%s", text)
        return False

    def _error(self, error: KafkaError) -> None:
        self._last = error.str()
        if error.code() == KafkaError._ALL_BROKERS_DOWN and clock.monotonic() - self._warned > 30:
            self._warned = clock.monotonic()
            _log.warning("no broker of %s answers: waiting for them", self._brokers)

    def reach(self, client: Any, topic: str, timeout: float = 10) -> Any:
        """Return what the brokers say of a topic; raises BrokersError if none answers."""
        try:
            return client.list_topics(topic, timeout=timeout).topics[topic]
        except KafkaException as error:
            reason = error.args[0]
            if reason.code() not in (
                KafkaError._TRANSPORT,
                KafkaError._ALL_BROKERS_DOWN,
                KafkaError._TIMED_OUT,
                KafkaError._RESOLVE,
            ):
                raise
            client.poll(0)  # hands over the lines in which librdkafka says why
            why = self._last or reason.str()
        raise BrokersError(f"no broker of {self._brokers} answered within {timeout:g} s: {why}")


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
        self._trouble, self._reached = _Trouble(brokers), False
        settings: dict[str, Any] = {
            **self._trouble.settings(),
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
        """Queue arrivals; raises SendError if an earlier one was refused. `flush` waits for all.

        Raises BrokersError if no broker answers at the beginning; later ones that are away are waited for.
        """
        if not self._reached:
            self._trouble.reach(self._producer, self._topic)
            self._reached = True
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
    ids: Iterable[NodeId] | None = None,
    since: datetime | None = None,
    committed: bool = True,
    count: int | None = None,
    timeout: float = 30,
    config: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Return the predictions of a topic as a table (`frames.predictions_frame`). Needs pandas.

    It reads from the beginning, or from the first record that was written at since or later, to where the topic
    ends now. With a count it waits for that many. With ids it waits until each of them has a prediction, and
    returns the latest one of each, in their order: give since, a time with a zone before you sent the arrivals,
    unless no id has been sent before.

    Predictions of aborted transactions are left out, unless committed is False, and so are records that are no
    predictions in JSON (`prediction_of`). No offsets are committed: a second call reads the same again. Raises
    TimeoutError if it takes longer than so many seconds, and BrokersError if no broker answers.
    """
    from .frames import predictions_frame

    if ids is not None and count is not None:
        raise ValueError("ids and count are given, want one of them")
    if since is not None and since.utcoffset() is None:
        raise ValueError(f"since is {since}, without a zone: datetime.now(timezone.utc) has one")
    wanted = None if ids is None else list(dict.fromkeys(identity(id) for id in ids))
    settings = {**(config or {}), "enable.auto.commit": False}
    trouble = _Trouble(brokers)
    consumer = _consumer(trouble, brokers, f"rivulet-mcond-{uuid.uuid4()}", committed, settings)
    try:
        metadata = trouble.reach(consumer, topic, min(10, timeout))
        reading = _Reading(consumer, topic, metadata, since, clock.monotonic() + timeout)
        return predictions_frame(reading.read(count) if wanted is None else reading.of(wanted))
    finally:
        consumer.close()


class _Reading:
    """One reading of a topic, until a deadline."""

    def __init__(
        self, consumer: Consumer, topic: str, metadata: Any, since: datetime | None, deadline: float
    ) -> None:
        """Find where it begins."""
        self._consumer, self._topic, self._deadline = consumer, topic, deadline
        if metadata.error is not None:
            raise KafkaException(metadata.error)
        starts = [TopicPartition(topic, p, OFFSET_BEGINNING) for p in metadata.partitions]
        if since is not None:
            moment = int(since.timestamp() * 1000)
            asked = [TopicPartition(topic, p, moment) for p in metadata.partitions]
            starts = consumer.offsets_for_times(asked, timeout=self._left())
        self._open_ends = set()
        for start in starts:
            low, high = consumer.get_watermark_offsets(start, timeout=10)
            if start.error is not None:
                raise KafkaException(start.error)
            if high > max(low, start.offset) and start.offset != OFFSET_END:
                self._open_ends.add(start.partition)
        consumer.assign(starts)

    def _left(self) -> float:
        return max(0.1, self._deadline - clock.monotonic())

    def read(self, count: int | None) -> list[bytes]:
        """Return so many predictions, or those up to the end of the topic."""
        values: list[bytes] = []
        while len(values) < count if count is not None else self._open_ends:
            wanted = "the end of the topic" if count is None else f"{count} predictions"
            one = self._next(f"{len(values)} predictions of {self._topic} were read in time, but not {wanted}")
            if one is not None:
                values.append(one[1])
        return values

    def of(self, ids: Sequence[str]) -> list[bytes]:
        """Return the latest prediction of each id, up to the end of the topic and until each has one."""
        found: dict[str, bytes] = {}
        wanted, open_ids = set(ids), set(ids)
        while open_ids or self._open_ends:
            one = self._next(
                f"{len(open_ids)} of {len(ids)} ids have no prediction in {self._topic} in time, such as "
                f"{next(iter(open_ids), '')!r}"
            )
            if one is not None and one[0] in wanted:
                found[one[0]] = one[1]
                open_ids.discard(one[0])
        return [found[id] for id in ids]

    def _next(self, late: str) -> tuple[str, bytes] | None:
        """Return id and value of the next prediction; None: there is none yet."""
        if clock.monotonic() > self._deadline:
            raise TimeoutError(late)
        message = self._consumer.poll(0.2)
        if message is None:
            return None
        error = message.error()
        if error is None:
            value, prediction = message.value(), prediction_of(message)
            return None if value is None or prediction is None else (str(prediction["id"]), value)
        if error.code() == KafkaError._PARTITION_EOF:
            self._open_ends.discard(message.partition())
        elif not error.retriable():
            raise KafkaException(error)
        return None


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
    JSON are passed over (`prediction_of`). Raises BrokersError if no broker answers at the beginning; later ones
    that are away are waited for, with a warning each half minute.
    """
    trouble = _Trouble(brokers)
    consumer = _consumer(
        trouble, brokers, group, committed, {**(config or {}), "enable.auto.offset.store": False}
    )
    try:
        trouble.reach(consumer, topic)
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
        reason = headers["rivulet-reason"].decode(errors="replace")
        problem = f"it is a dead letter, of the reason {reason}"
        if reason in SENTENCES:
            problem += f" ({SENTENCES[reason].rstrip('.')})"
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


def _consumer(
    trouble: _Trouble, brokers: str, group: str, committed: bool, config: Mapping[str, Any]
) -> Consumer:
    return Consumer(
        {
            **trouble.settings(),
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
