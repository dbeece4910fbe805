package app

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/config"
	"rivulet/event"
	"rivulet/internal/devstack"
)

// heard passes on what a topic of labels held; a refused record is a label without an id.
type heard chan event.Label

func (h heard) Label(l *event.Label) { h <- *l }
func (h heard) RefuseLabel()         { h <- event.Label{} }

// Labels that come after the start are read in either form from all partitions; what is none is refused; the end is
// no error, and nothing to warn of.
func TestFollowLabels(t *testing.T) {
	broker, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"labels": 2}})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	w, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()), kgo.DefaultProduceTopic("labels"), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	send := func(values ...string) {
		t.Helper()
		for _, v := range values {
			if err := w.ProduceSync(t.Context(), kgo.StringRecord(v)).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	send(`{"id":"before","class":1}`, `{"id":"before","class":1}`)

	cfg := config.Default[config.Consumer]()
	cfg.Kafka.Brokers.Brokers, cfg.Labels.Topic = broker.Addrs(), "labels"
	ctx, stop := context.WithCancel(t.Context())
	got, ended := make(heard, 1000), make(chan error, 1)
	var logged bytes.Buffer
	go func() { ended <- followLabels(ctx, cfg, slog.New(slog.NewTextHandler(&logged, nil)), got, nil) }()
	for begun := false; !begun; { // the end of a partition is where reading began
		send(`{"id":"begin","class":1}`, `{"id":"begin","class":1}`)
		select {
		case l := <-got:
			begun = l.ID == "begin"
		case <-time.After(20 * time.Millisecond):
		}
	}
	binary, err := (event.Protobuf{}).AppendLabel(nil, &event.Label{ID: "binary", Class: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.ProduceSync(t.Context(), &kgo.Record{Value: binary,
		Headers: []kgo.RecordHeader{{Key: event.HeaderContentType, Value: []byte(event.Protobuf{}.ContentType())}}}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	send(`{"id":"named","class_name":"x"}`, `nonsense`)
	want := map[event.Label]bool{{ID: "binary", Class: 2}: true, {ID: "named", Class: event.ByName, ClassName: "x"}: true, {}: true}
	for len(want) > 0 {
		l := <-got
		if l.ID == "before" {
			t.Error("a label from before the start was read")
		}
		delete(want, l)
	}
	stop()
	if err := <-ended; err != nil || logged.Len() > 0 {
		t.Errorf("%v, logged %s", err, logged.String())
	}
}
