package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/event"
	"rivulet/internal/devstack"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// letters is a broker with dead letters of two reasons, some of which cannot be fed in again.
type letters struct {
	*testing.T
	kafka  *devstack.Kafka
	client *kgo.Client
}

func newLetters(t *testing.T) *letters {
	t.Helper()
	kafka, err := devstack.StartKafka(devstack.KafkaOptions{
		Topics: map[string]int{"arrivals": 3, "arrivals.dead-letters": 2, "transfers": 1}})
	expect.OK(t, err)
	t.Cleanup(kafka.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(kafka.Addrs()...))
	expect.OK(t, err)
	t.Cleanup(client.Close)
	return &letters{t, kafka, client}
}

// add writes a dead letter as a consumer does, with headers of its own besides.
func (l *letters) add(d event.DeadLetter, more ...event.Header) {
	l.Helper()
	r := &kgo.Record{Topic: "arrivals.dead-letters", Key: d.Key, Value: d.Value}
	for _, h := range append(d.RecordHeaders(), more...) {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	if err := l.client.ProduceSync(l.Context(), r).FirstErr(); err != nil {
		l.Fatal(err)
	}
}

// run runs a command of dead letters.
func (l *letters) run(args ...string) (string, error) {
	return harness.Execute(root(), append([]string{"dead-letters", args[0], "--kafka.brokers", l.kafka.Addrs()[0]},
		args[1:]...)...)
}

// arrivals are the committed records of the topic of arrivals: key, value, headers.
func (l *letters) arrivals() map[string]int {
	l.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(l.kafka.Addrs()...), kgo.ConsumeTopics("arrivals"),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		l.Fatal(err)
	}
	defer client.Close()
	admin, err := harness.NewKafka(l.kafka.Addrs()...)
	if err != nil {
		l.Fatal(err)
	}
	defer admin.Close()
	ends, err := admin.ListCommittedOffsets(l.Context(), "arrivals")
	if err != nil {
		l.Fatal(err)
	}
	at := map[int32]int64{}
	for p, end := range ends["arrivals"] {
		at[p] = end.Offset
	}
	found := map[string]int{}
	for p := range at {
		if at[p] == 0 {
			delete(at, p)
		}
	}
	for len(at) > 0 {
		fetches := client.PollFetches(l.Context())
		fetches.EachRecord(func(r *kgo.Record) {
			text := string(r.Key) + " " + string(r.Value)
			for _, h := range r.Headers {
				text += " " + h.Key + "=" + string(h.Value)
			}
			found[text]++
		})
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if n := len(p.Records); n > 0 && p.Records[n-1].Offset+2 >= at[p.Partition] { // a marker ends a transaction
				delete(at, p.Partition)
			}
		})
	}
	return found
}

// Dead letters are fed in once each, as they came, however often the command runs and wherever it fails.
func TestDeadLettersAreFedInOnce(t *testing.T) {
	l := newLetters(t)
	own := []event.Header{{Key: "content-type", Value: []byte("application/json")}, {Key: "trace", Value: []byte("7")}}
	const n = 1200 // several transactions
	for i := range n {
		l.add(event.DeadLetter{Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, `{"id":"%d"}`, i), Headers: own,
			Source: event.Source{Topic: "arrivals", Offset: int64(i)}, Reason: event.ReasonFeatureLength,
			Detail: "features: 4 in place of 3"})
	}
	l.add(event.DeadLetter{Value: []byte("{"), Reason: event.ReasonUnparsable, Detail: "\x1b[2J"})
	l.add(event.DeadLetter{Value: []byte("x"), Source: event.Source{Topic: "transfers"},
		Reason: event.ReasonEdgeUnmatched})
	l.add(event.DeadLetter{Key: []byte("again"), Value: []byte("x"), Reason: event.ReasonFeatureLength},
		event.Header{Key: event.HeaderReplayed, Value: []byte("1")})
	l.add(event.DeadLetter{Key: []byte("large"), Reason: event.ReasonFeatureLength},
		event.Header{Key: event.HeaderTrimmed, Value: []byte("value of 9 bytes")})

	out, err := l.run("list", "--limit", "3")
	if err != nil || !strings.Contains(out, fmt.Sprint(n+2, " dead letters")) ||
		!strings.Contains(out, "1 dead letters") ||
		strings.Contains(out, "\x1b") || strings.Count(out, "\n") != 7 {
		t.Errorf("list: %v\n%s", err, out)
	}
	// fenced at its first end
	l.kafka.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.InvalidProducerEpoch})
	if out, err := l.run("replay", "--reason", "feature_length"); err == nil {
		t.Errorf("a replay that was fenced ends without an error:\n%s", out)
	}
	out, err = l.run("replay", "--reason", "feature_length")
	if want := fmt.Sprintf("feature_length: %d fed in again to the topics that they came from; 1 left out: fed in before",
		n); err != nil ||
		!strings.HasPrefix(out, want) || !strings.Contains(out, "1 left out: without all of their record") {
		t.Errorf("replay: %v\n%s", err, out)
	}
	if out, err = l.run("replay", "--reason", "feature_length"); err != nil ||
		!strings.HasPrefix(out, "feature_length: 0 fed in") {
		t.Errorf("replay, once more: %v\n%s", err, out)
	}
	found := l.arrivals()
	for i := range n {
		want := fmt.Sprintf(`k%d {"id":"%d"} content-type=application/json trace=7 rivulet-replayed=1`, i, i)
		if found[want] != 1 {
			t.Fatalf("%q is there %d times", want, found[want])
		}
	}
	if len(found) != n {
		t.Errorf("%d arrivals, want %d", len(found), n)
	}
	if _, err := l.run("replay", "--reason", event.ReasonEdgeUnmatched); err != nil ||
		l.kafka.Cluster.PartitionInfo("transfers", 0).HighWatermark == 0 || len(l.arrivals()) != n {
		t.Errorf("a record of another topic is not fed in there: %v", err)
	}

	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	if out, err = l.run("replay", "--all", "--from", later, "--again"); err != nil ||
		!strings.HasPrefix(out, "no dead letters") {
		t.Errorf("replay from later on: %v\n%s", err, out)
	}
	if out, err = l.run("replay", "--all"); err != nil || !strings.Contains(out, "feature_length: 0 fed") ||
		!strings.Contains(out, "unparsable: 1 fed") {
		t.Errorf("replay of all reasons: %v\n%s", err, out)
	}
	if out, err = l.run("replay", "--reason", "feature_length", "--again", "--from", "1h"); err != nil ||
		!strings.HasPrefix(out, fmt.Sprintf("feature_length: %d fed in", n+1)) {
		t.Errorf("replay --again: %v\n%s", err, out)
	}
	for want, args := range map[string]string{`--from is "soon"`: "replay --reason x --from soon",
		"at least one of the flags": "replay",
		`--limit is -1`:             "list --limit -1"} {
		expect.Error(t, expect.ErrorOf(l.run(strings.Fields(args)...)), want, "%s", args)
	}
}
