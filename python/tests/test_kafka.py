"""Arrivals sent and predictions read, by way of `rivulet devstack` and the consumer."""

from __future__ import annotations

import pathlib
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone

import numpy as np
import pytest

from rivulet_mcond import Arrival, Predictor, open_artifact

from .conftest import Set

pytest.importorskip("confluent_kafka")
pytest.importorskip("pandas")
kafka = pytest.importorskip("rivulet_mcond.kafka")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, "devstack ended"
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("devstack does not answer")


@pytest.fixture(scope="module")
def stack(
    trained: Callable[[str, str], Set], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Set]]:
    """A broker, and a consumer that serves the artifact of the generated graph."""
    of = trained("small", "sgc,ssgc,gcn,sage,appnp,cheby")
    consumer = of.programs / "consumer"
    if not consumer.exists():
        root = pathlib.Path(__file__).resolve().parents[2]
        subprocess.run(["go", "build", "-o", str(consumer), "./cmd/consumer"], cwd=root, check=True)
    port = free_port()
    broker = f"127.0.0.1:{port}"
    log = (tmp_path_factory.mktemp("log") / "log").open("wb")
    processes = [
        subprocess.Popen(
            [str(of.programs / "rivulet"), "devstack", "--kafka", broker, "--redis", ""], stderr=log
        )
    ]
    try:
        wait_for(port, processes[0])
        settings = ["--artifact", str(of.artifact), "--kafka.brokers", broker, "--http.listen", ""]
        processes.append(subprocess.Popen([str(consumer), *settings], stderr=log))
        yield broker, of
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(30)


def test_what_is_sent_is_predicted(stack: tuple[str, Set]) -> None:
    broker, of = stack
    arrivals = of.arrivals[:100]
    assert kafka.send(arrivals, broker) == len(arrivals)
    frame = kafka.read_predictions(broker, count=len(arrivals), timeout=120)
    assert sorted(frame["id"]) == sorted(a.id for a in arrivals)
    here = Predictor(open_artifact(of.artifact)).predict(arrivals).to_frame().set_index("id")
    there = frame.set_index("id").loc[here.index]
    assert np.abs(here["probability"] - there["probability"]).max() < 1e-5
    assert (here["known_neighbours"] == there["known_neighbours"]).all()
    began = datetime.now(timezone.utc)
    mine = [Arrival(a.id, a.features, []) for a in arrivals[:7]]
    assert kafka.read_predictions(broker, since=began).empty
    kafka.send(mine, broker)
    latest = kafka.read_predictions(broker, ids=[a.id for a in mine], since=began, timeout=120)
    assert latest["id"].tolist() == [a.id for a in mine] and (latest["known_neighbours"] == 0).all()
    latest = kafka.read_predictions(broker, ids=[arrivals[50].id, mine[0].id, mine[0].id], timeout=60)
    assert latest["known_neighbours"].tolist() == [here.loc[arrivals[50].id, "known_neighbours"], 0]
    with pytest.raises(TimeoutError, match="1 of 2 ids have no prediction in predictions in time, such as 'no'"):
        kafka.read_predictions(broker, ids=["no", mine[0].id], timeout=1)
    with pytest.raises(ValueError, match="without a zone"):
        kafka.read_predictions(broker, since=datetime.now())
    with pytest.raises(ValueError, match="want one of them"):
        kafka.read_predictions(broker, ids=["a"], count=1)
    again = kafka.read_predictions(broker, timeout=60)
    assert len(again) == len(arrivals) + len(mine)
    assert set(again["source_topic"]) == {"arrivals"}
    for said, _ in zip(kafka.follow_predictions(broker, group="feed"), range(3), strict=False):
        assert said["artifact"] == frame["artifact"][0]


def test_headers_and_key(stack: tuple[str, Set]) -> None:
    """The consumer is asked what it got: a dead letter keeps key, value and headers."""
    broker, _ = stack
    wrong = Arrival("too-short", [1.0])
    with kafka.Sender(broker, schema_hash="ab12") as sender:
        sender.send(wrong)
    consumer = kafka._consumer(kafka._Trouble(broker), broker, "dead-letters", True, {})
    try:
        consumer.subscribe(["arrivals.dead-letters"])
        deadline = time.monotonic() + 60
        message = None
        while message is None or message.error() is not None:
            assert time.monotonic() < deadline
            message = consumer.poll(1)
    finally:
        consumer.close()
    headers = dict(message.headers())
    assert message.key() == b"too-short"
    assert message.value() == wrong.to_json()
    assert headers["content-type"] == b"application/json"
    assert headers["rivulet-schema"] == b"ab12"
    assert "rivulet-reason" in headers


class Record:
    """A record as confluent-kafka has it."""

    def __init__(self, value: bytes | None, **headers: str) -> None:
        self._value = value
        self._headers = [(name.replace("_", "-"), text.encode()) for name, text in headers.items()] or None

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> list[tuple[str, bytes]] | None:
        return self._headers

    def topic(self) -> str:
        return "predictions"

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return 17


PREDICTION = b'{"id":"a","class":1,"probability":0.5,"source":{"topic":"arrivals","partition":0,"offset":1}}'


@pytest.mark.parametrize(
    "headers", [{}, {"content_type": "application/json"}, {"content_type": '"application/JSON; charset=utf-8"'}]
)
def test_predictions_are_read(headers: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    said = kafka.prediction_of(Record(PREDICTION, **headers))
    assert said is not None and said["id"] == "a"
    assert not caplog.records


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (Record(None), None),
        (Record(PREDICTION, content_type="application/x-protobuf"), "content-type is application/x-protobuf"),
        (Record(b'{"id":"a"}', rivulet_reason="unparsable"), "of the reason unparsable (The record is not"),
        (Record(b""), "no JSON"),
        (Record(b"\xff"), "no JSON"),
        (Record(b"[1]"), "no prediction"),
        (Record(b'{"id":"a","source":"x"}'), "no prediction"),
    ],
)
def test_other_records_are_passed_over(
    record: Record, problem: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    assert kafka.prediction_of(record) is None
    if problem is None:
        assert not caplog.records
    else:
        assert "predictions/3/17 is passed over" in caplog.text and problem in caplog.text


def test_a_feed_survives_other_records(stack: tuple[str, Set]) -> None:
    """A tombstone, another form and a text lie between predictions."""
    broker, _ = stack
    admin = pytest.importorskip("confluent_kafka.admin")
    client = admin.AdminClient({"bootstrap.servers": broker})
    client.create_topics([admin.NewTopic("mixed", 1, 1)])["mixed"].result(60)
    producer = kafka.Producer({"bootstrap.servers": broker})
    for value, headers in (
        (PREDICTION, []),
        (None, []),
        (b"\x01", [("content-type", "application/x-protobuf")]),
        (b"text", []),
        (PREDICTION, []),
    ):
        producer.produce("mixed", key=b"a", value=value, headers=headers)
    assert producer.flush(60) == 0
    assert len(kafka.read_predictions(broker, "mixed", timeout=60)) == 2
    feed = kafka.follow_predictions(broker, "mixed", group="mixed")
    assert [next(feed)["source"]["offset"], next(feed)["source"]["offset"]] == [1, 1]
    feed.close()


@pytest.mark.parametrize(
    "call",
    [
        lambda broker: kafka.send([Arrival("x", [1.0])], broker),
        lambda broker: kafka.read_predictions(broker, timeout=2),
        lambda broker: next(kafka.follow_predictions(broker, group="g")),
    ],
)
def test_brokers_that_do_not_answer(
    call: Callable[[str], object],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One sentence names them, soon, and librdkafka writes no lines of its own."""
    broker = f"127.0.0.1:{free_port()}"
    reach = kafka._Trouble.reach
    monkeypatch.setattr(
        kafka._Trouble, "reach", lambda self, client, topic, timeout=2: reach(self, client, topic, 2)
    )
    with pytest.raises(kafka.BrokersError, match=f"^no broker of {broker} answered within 2 s: .*refused"):
        call(broker)
    assert len(caplog.records) <= 1
    assert capfd.readouterr() == ("", "")


def test_what_cannot_be_sent(stack: tuple[str, Set]) -> None:
    broker, _ = stack
    sender = kafka.Sender(
        broker, config={"message.timeout.ms": 2000, "allow.auto.create.topics": False}, topic="none"
    )
    sender.send(Arrival("x", [1.0]))
    with pytest.raises(kafka.SendError, match="arrival x"):
        sender.flush(30)
    with pytest.raises(TimeoutError, match="0 predictions of labels were read"):
        kafka.read_predictions(broker, "labels", count=1, timeout=1)
