package run

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"rivulet/config"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// Records that cannot be read are left out with a line of the log; a topic that has no others is an error.
func TestCompareLeavesOutWhatItCannotRead(t *testing.T) {
	k, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"one": 1, "two": 1, "labels": 1, "bad": 1}})
	expect.OK(t, err)
	defer k.Close()
	client, err := kafka.Connect(kafka.Options{Brokers: k.Addrs()})
	expect.OK(t, err)
	defer client.Close()
	sink, err := kafka.NewSink(client, "", retry.Patience{})
	expect.OK(t, err)
	prediction, err := json.Codec{}.AppendPrediction(nil, &event.Prediction{ID: "n1", Class: 2, Probability: 0.5,
		Artifact: "v1", Source: event.Source{Topic: "arrivals", Offset: 7}})
	expect.OK(t, err)
	for topic, values := range map[string][]string{"one": {string(prediction)}, "two": {"garbage", string(prediction)},
		"labels": {"garbage", `{"id":"n1","class":2}`}, "bad": {"garbage", "[]"}} {
		var records []kafka.Record
		for _, v := range values {
			records = append(records, kafka.Record{Key: []byte("n1"), Value: []byte(v), Time: time.Now()})
		}
		expect.OK(t, sink.Send(t.Context(), topic, records))
	}
	cfg := config.Default[config.Compare]()
	cfg.Kafka.Brokers = config.Brokers{Brokers: k.Addrs(), SASL: config.KafkaSASL{Mechanism: config.SASLNone}}
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, nil))
	o := CompareOptions{Topics: [2]string{"one", "two"}, Labels: "labels", Remember: 10}
	r, _, err := Compare(t.Context(), cfg, o, log)
	expect.OK(t, err)
	expect.Same(t, 1, r.Pairs, "pairs")
	for _, topic := range []string{"two", "labels"} {
		if want := "records that cannot be read are left out\" topic=" + topic + " records=1"; !strings.Contains(text.String(),
			want) {
			t.Errorf("the log has no %s:\n%s", want, text.String())
		}
	}
	o.Topics[1] = "bad"
	_, _, err = Compare(t.Context(), cfg, o, log)
	expect.Error(t, err, "none of 2 records can be read", "bad, partition 0, offset 0")
}
