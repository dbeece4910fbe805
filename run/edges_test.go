package run

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rivulet/config"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/internal/check"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

func TestCheckEdges(t *testing.T) {
	k, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"none": 2, "keyed": 4, "mixed": 4}})
	expect.OK(t, err)
	defer k.Close()
	client, err := kafka.Connect(kafka.Options{Brokers: k.Addrs()})
	expect.OK(t, err)
	defer client.Close()
	sink, err := kafka.NewSink(client, "", retry.Patience{})
	expect.OK(t, err)
	for topic, keyOf := range map[string]string{"keyed": "source", "mixed": "target"} {
		var records []kafka.Record
		for i := range 40 {
			a := event.Arrival{ID: fmt.Sprint("n", i), Features: event.Features{Values: []float32{1}}, EdgeCount: 1}
			e := event.Edge{Source: a.ID, Target: fmt.Sprint("t", i), Weight: 1}
			node, _ := json.Codec{}.AppendArrival(nil, &a)
			edge, _ := json.Codec{}.AppendEdge(nil, &e)
			key := map[string]string{"source": e.Source, "target": e.Target}[keyOf]
			records = append(records, kafka.Record{Key: []byte(a.ID), Value: node, Time: time.Now()},
				kafka.Record{Key: []byte(key), Value: edge, Time: time.Now(),
					Headers: []event.Header{{Key: event.HeaderKind, Value: []byte(event.KindEdge)}}})
		}
		expect.OK(t, sink.Send(t.Context(), topic, records))
	}
	for topic, want := range map[string]struct {
		state check.State
		found string
	}{
		"none":    {check.OK, "none of the newest 0 records"},
		"keyed":   {check.OK, "of the newest 80 records 40 are edges in the partition of their arrival"},
		"mixed":   {check.Failed, "of the newest 80 records "},
		"missing": {check.Failed, ""},
	} {
		cfg := config.Default[config.Consumer]()
		cfg.Kafka.Brokers.Brokers, cfg.Kafka.Topics.Arrivals = k.Addrs(), topic
		got := checkEdges(t.Context(), cfg)
		if got.State != want.state || !strings.HasPrefix(got.Found, want.found) || got.State == check.Failed && got.Do == "" {
			t.Errorf("%s: %v", topic, got)
		}
	}
}
