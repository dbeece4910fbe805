package run

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/config"
	"rivulet/event"
	"rivulet/event/protobuf"
	"rivulet/event/read"
	"rivulet/internal/devstack"
	"rivulet/test/expect"
)

// heard passes on what a topic of labels held; a refused record is a label without an id.
type heard chan event.Label

func (h heard) Label(l *event.Label) { h <- *l }
func (h heard) RefuseLabel()         { h <- event.Label{} }
func (h heard) RetryLabels()         {}

// counted is a heard that counts failures too.
type counted struct {
	heard
	failures chan struct{}
}

func (c counted) RetryLabels() { c.failures <- struct{}{} }

// Rights for the topic of labels that are lost for a while, or missing from the start, are waited for: predictions do
// not need labels. Each attempt is counted; the log says that it began and that it is over.
func TestLostRightsToLabelsAreWaitedFor(t *testing.T) {
	for name, refused := range map[string]kmsg.Key{"to see the topic": kmsg.Metadata, "to read it": kmsg.Fetch} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broker, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"labels": 1}})
			expect.OK(t, err)
			defer broker.Close()
			lost := broker.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{refused}, Topic: "labels",
				Err: kerr.TopicAuthorizationFailed, Count: -1})
			w, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()), kgo.DefaultProduceTopic("labels"))
			expect.OK(t, err)
			defer w.Close()
			cfg := config.Default[config.Consumer]()
			cfg.Kafka.Brokers.Brokers, cfg.Labels.Topic = broker.Addrs(), "labels"
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			to, ended := counted{make(heard, 1000), make(chan struct{}, 1000)}, make(chan error, 1)
			var logged bytes.Buffer
			go func() {
				ended <- followLabels(ctx, cfg, (&read.Reader{}).OfLabels(), nil, slog.New(slog.NewTextHandler(&logged, nil)), to)
			}()
			for range 3 {
				select {
				case <-to.failures:
				case err := <-ended:
					t.Fatalf("reading labels has ended: %v", err)
				}
			}
			lost.Remove()
			for read := false; !read; {
				expect.OK(t, w.ProduceSync(t.Context(), kgo.StringRecord(`{"id":"a","class":1}`)).FirstErr())
				select {
				case <-to.heard:
					read = true
				case <-time.After(20 * time.Millisecond):
				}
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if log := logged.String(); strings.Count(log, `msg="waiting for labels"`) != 1 ||
				strings.Count(log, "no longer waiting for labels") != 1 ||
				!strings.Contains(log, "Topic Authorization Failed") {
				t.Errorf("logged:\n%s", log)
			}
		})
	}
}

// Labels that come after the start are read in either form from all partitions; what is none is refused; the end is
// no error, and nothing to warn of.
func TestFollowLabels(t *testing.T) {
	broker, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"labels": 2}})
	expect.OK(t, err)
	defer broker.Close()
	w, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()), kgo.DefaultProduceTopic("labels"),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	expect.OK(t, err)
	defer w.Close()
	send := func(values ...string) {
		t.Helper()
		for _, v := range values {
			expect.OK(t, w.ProduceSync(t.Context(), kgo.StringRecord(v)).FirstErr())
		}
	}
	send(`{"id":"before","class":1}`, `{"id":"before","class":1}`)

	cfg := config.Default[config.Consumer]()
	cfg.Kafka.Brokers.Brokers, cfg.Labels.Topic = broker.Addrs(), "labels"
	ctx, stop := context.WithCancel(t.Context())
	got, ended := make(heard, 1000), make(chan error, 1)
	var logged bytes.Buffer
	go func() {
		ended <- followLabels(ctx, cfg, (&read.Reader{}).OfLabels(), nil, slog.New(slog.NewTextHandler(&logged, nil)), got)
	}()
	for begun := false; !begun; { // the end of a partition is where reading began
		send(`{"id":"begin","class":1}`, `{"id":"begin","class":1}`)
		select {
		case l := <-got:
			begun = l.ID == "begin"
		case <-time.After(20 * time.Millisecond):
		}
	}
	binary, err := (protobuf.Codec{}).AppendLabel(nil, &event.Label{ID: "binary", Class: 2})
	expect.OK(t, err)
	if err := w.ProduceSync(t.Context(), &kgo.Record{Value: binary,
		Headers: []kgo.RecordHeader{{Key: event.HeaderContentType,
			Value: []byte(protobuf.Codec{}.ContentType())}}}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	send(`{"id":"named","class_name":"x"}`, `nonsense`)
	want := map[event.Label]bool{{ID: "binary", Class: 2}: true, {ID: "named", Class: event.ByName, ClassName: "x"}: true,
		{}: true}
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
