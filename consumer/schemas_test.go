package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/json"
	"rivulet/event/read"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// away is a registry of Rivulet's own Avro schema under every id but those of lacking; while down, it knows only what
// it has been asked before.
type away struct {
	mu    sync.Mutex
	down  bool
	known map[read.SchemaID]bool
}

const lacking = 404

func (r *away) LearnSchema(_ context.Context, id read.SchemaID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down && !r.known[id] {
		return errors.New("503 Service Unavailable")
	}
	if r.known == nil {
		r.known = map[read.SchemaID]bool{}
	}
	r.known[id] = true
	return nil
}

func (r *away) Schema(id read.SchemaID) (read.Written, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known[id] || id.Number == lacking {
		return nil, &event.FieldError{Reason: event.ReasonUnparsable, Detail: fmt.Sprint("no schema ", id)}
	}
	return avro.Parse(event.ArrivalAvro)
}

func (r *away) set(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

// framed publishes n arrivals to the partition of a key, in the Confluent wire format.
func (s *stack) framed(key string, id uint32, n int) {
	s.t.Helper()
	var batch []kafka.Record
	for range n {
		a := arrival(fmt.Sprintf("n%d", s.sent), "t0")
		value, err := avro.Codec{}.AppendArrival(read.AppendConfluentHead(nil, id), &a)
		if err != nil {
			s.t.Fatal(err)
		}
		batch = append(batch, kafka.Record{Key: []byte(key), Value: value})
		s.sent++
	}
	if err := s.sender.Send(s.t.Context(), arrivalsTopic, batch); err != nil {
		s.t.Fatal(err)
	}
}

// While the registry is away, the partition that needs it waits, and others go on; nothing is lost, nothing is a dead
// letter, and the order stays. A consumer that waits can be stopped.
func TestAPartitionWaitsForTheRegistry(t *testing.T) {
	s, registry := newStack(t, 2), &away{}
	seen := &recorder{}
	begin := func() func() error {
		o := s.options(seen)
		o.Registry, o.Path.Forms.Schemas = registry, registry
		return s.start(o)
	}
	stop := begin()
	s.framed("a", 1, 5)
	second := func() int64 { return s.kafka.Cluster.PartitionInfo(arrivalsTopic, 1).HighWatermark }
	b, ofA := "b", second() // a key of the other partition is looked for
	for s.framed(b, 1, 1); (second() > ofA) == (ofA > 0); s.framed(b, 1, 1) {
		b, ofA = b+"b", second()
	}
	begun := int64(s.sent)
	s.wait("all is predicted", func() bool { return s.size(predictionsTopic) == begun })
	registry.set(true)
	s.framed("a", 2, 20) // a new schema
	s.framed(b, 1, 30)
	s.wait("the other partition goes on", func() bool { return s.size(predictionsTopic) == begun+30 })
	s.wait("the wait is reported", func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return seen.retries[StageSchemas] > 1
	})
	since := time.Now()
	expect.OK(t, stop())
	if took := time.Since(since); took > 15*time.Second { // it would wait for ever
		t.Errorf("the stop took %v", took)
	}
	if n := s.size(predictionsTopic); n != begun+30 {
		t.Errorf("%d predictions while the registry is away, want %d", n, begun+30)
	}
	// Another process knows nothing: both partitions wait, one of them only for records that come now.
	registry.known = nil
	stop = begin()
	s.framed("a", 3, 5)
	s.framed(b, 3, 5)
	registry.set(false)
	s.wait("all is predicted", func() bool { return s.size(predictionsTopic) == begun+60 })
	s.framed("a", lacking, 3)
	s.wait("an unknown id is a dead letter", func() bool { return s.size(lettersTopic) == 3 })
	expect.OK(t, stop())
	last := map[string]int64{}
	ids := map[string]bool{}
	for _, rec := range s.published(predictionsTopic) {
		var p event.Prediction
		expect.OK(t, (json.Codec{}).DecodePrediction(rec.Value, &p))
		if before, is := last[string(rec.Key)]; is && p.Source.Offset <= before {
			t.Errorf("key %s: offset %d after %d", rec.Key, p.Source.Offset, before)
		}
		last[string(rec.Key)], ids[p.ID] = p.Source.Offset, true
	}
	if len(ids) != int(begun)+60 || len(last) < 2 {
		t.Errorf("%d of %d arrivals are predicted, of %d keys", len(ids), begun+60, len(last))
	}
}

// Deletes and tombstones of a database are passed over and counted: their offsets are committed.
func TestSkippedRecords(t *testing.T) {
	mapping, err := read.NewMapping(read.MappingOptions{Preset: read.PresetDebezium, Key: "/owner"})
	expect.OK(t, err)
	seen, out := &recorder{}, &kept{}
	p := pipeline(t, PipelineOptions{Versions: serve(newTestVersion("v1")), Deliverer: out, Observer: seen,
		Forms: read.Reader{Mapping: mapping}})
	var in Intake
	for _, value := range []string{`{"op":"c","after":{"id":1,"features":[1,2,3,4],"owner":"o"}}`,
		`{"op":"d","before":{"id":1}}`, ``, `{"op":"c"}`} {
		in.Records = append(in.Records, kafka.Record{Key: []byte("k"), Value: []byte(value)})
	}
	expect.OK(t, p.Process(t.Context(), in))
	b := out.batches[0]
	if len(b.Predictions) != 1 || string(b.Predictions[0].Key) != "o" || len(b.DeadLetters) != 1 ||
		string(b.DeadLetters[0].Key) != "k" {
		t.Errorf("%+v", b)
	}
	if s := seen.batches[0].Skipped; len(s) != 2 || s[0] != read.SkipDelete || s[1] != read.SkipTombstone {
		t.Errorf("skipped %v", s)
	}
}
