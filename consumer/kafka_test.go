package consumer

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"rivulet/event"
	"rivulet/kafka"
	"rivulet/test/expect"
)

func TestEveryArrivalIsPredictedExactlyOnce(t *testing.T) {
	s, seen := newStack(t, 3), &recorder{}
	s.send(500)
	stop := s.start(s.options(seen))
	s.wait("all are predicted", func() bool { return s.size(predictionsTopic) >= 500 })
	s.send(77) // while it runs
	s.wait("all are predicted", func() bool { return s.size(predictionsTopic) >= 577 })
	expect.OK(t, stop())
	if repeated := s.check(); repeated != 0 {
		t.Errorf("%d repeated", repeated)
	}
	if got := s.committed(); got != 577 {
		t.Errorf("committed %d after the drain, want 577", got)
	}
	if info := s.kafka.Cluster.GroupInfo("g"); info != nil && len(info.Members) != 0 {
		t.Errorf("%d members are left in the group", len(info.Members))
	}
	records, predicted := 0, 0
	for _, b := range seen.batches {
		records += b.Records
		publishing := b.Started.Add(b.Decode + b.Lookup + b.Attach + b.Infer + b.Encode + b.Wait)
		if b.Published.Before(publishing) || b.Published.After(publishing.Add(b.Publish)) || b.Commit <= 0 {
			t.Errorf("%s: published %v after its start, and not in the %v of that stage after %v", b.Name,
				b.Published.Sub(b.Started),
				b.Publish, publishing.Sub(b.Started))
		}
	}
	if predicted = seen.deliveries; records != 577 || predicted != 577 {
		t.Errorf("observed %d records, %d predictions", records, predicted)
	}
}

// G6: bad records go from topic to topic with reason and origin, and the stream goes on.
func TestDeadLettersOnTheirTopic(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	s.send(3)
	poison := []kafka.Record{{Key: []byte("bad"), Value: []byte("{"),
		Headers: []event.Header{{Key: "trace", Value: []byte("7")}}}}
	expect.OK(t, s.sender.Send(t.Context(), arrivalsTopic, poison))
	s.send(3)
	stop := s.start(s.options(seen))
	s.wait("all are predicted", func() bool { return s.size(predictionsTopic) >= 6 && s.size(lettersTopic) >= 1 })
	expect.OK(t, stop())
	s.check()
	letters := s.published(lettersTopic)
	if len(letters) != 1 || string(letters[0].Value) != "{" || string(letters[0].Key) != "bad" {
		t.Fatalf("dead letters %+v", letters)
	}
	got := make(map[string]string)
	for _, h := range letters[0].Headers {
		got[h.Key] = string(h.Value)
	}
	want := map[string]string{"trace": "7", event.HeaderReason: event.ReasonUnparsable,
		event.HeaderSourceTopic:     arrivalsTopic,
		event.HeaderSourcePartition: "0", event.HeaderSourceOffset: "3"}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("header %s is %q, want %q", key, got[key], value)
		}
	}
}

func TestRestartContinuesAtTheCommittedOffset(t *testing.T) {
	s := newStack(t, 2)
	s.send(100)
	stop := s.start(s.options(&recorder{}))
	s.wait("some are predicted", func() bool { return s.size(predictionsTopic) >= 20 })
	if err := stop(); err != nil { // in mid-stream
		t.Fatal(err)
	}
	if published, committed := s.size(predictionsTopic), s.committed(); published != committed {
		t.Errorf("the drain left %d predictions published and %d committed", published, committed)
	}
	s.send(50)
	stop = s.start(s.options(&recorder{}))
	s.wait("all are predicted", func() bool { return s.size(predictionsTopic) >= 150 })
	expect.OK(t, stop())
	if repeated := s.check(); repeated != 0 {
		t.Errorf("%d repeated", repeated)
	}
}

func TestDrainFinishesTheBatchInHand(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	s.send(100)
	o := s.options(seen)
	h := &holding{next: o.Path.Deliverer, held: make(chan struct{}), release: make(chan struct{})}
	o.Path.Deliverer = h
	stop := s.start(o)
	<-h.held
	result := make(chan error, 1)
	go func() { result <- stop() }()
	time.Sleep(20 * time.Millisecond) // Run has been told to stop and has a batch that hangs
	if s.size(predictionsTopic) != 0 {
		t.Fatal("published while the delivery was held")
	}
	close(h.release)
	expect.OK(t, <-result)
	if published, committed := s.size(predictionsTopic), s.committed(); published != committed || published < 16 {
		t.Errorf("the drain left %d published and %d committed, want the batch in hand in both", published, committed)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	s := newStack(t, 1)
	for name, change := range map[string]func(*Options){
		"Kafka":           func(o *Options) { o.Kafka = nil },
		"group":           func(o *Options) { o.Source.Group = "" },
		"topics":          func(o *Options) { o.Source.Topics = nil },
		"start":           func(o *Options) { o.Source.Start = "yesterday" },
		"StartTime":       func(o *Options) { o.Source.Start = kafka.AtTime },
		"one goes":        func(o *Options) { o.Source.StartTime = time.Unix(1, 0) },
		"BatchSize is -1": func(o *Options) { o.BatchSize = -1 },
		"BatchLinger -1s": func(o *Options) { o.BatchLinger = -time.Second },
		"a Mode":          func(o *Options) { o.Path.Mode = nil },
		"Deliverer":       func(o *Options) { o.Path.Deliverer = nil },
	} {
		o := s.options(&recorder{})
		change(&o)
		expect.Error(t, expect.ErrorOf(New(o)), name, "%s: New returned", name)
	}
}

// Batches have no line: joining is all that there is to tell.
func TestNormalOperationLogsOnlyTheJoin(t *testing.T) {
	s := newStack(t, 2)
	s.send(50)
	var log bytes.Buffer
	o := s.options(&recorder{})
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	stop := s.start(o)
	s.wait("all are predicted", func() bool { return s.size(predictionsTopic) >= 50 })
	expect.OK(t, stop())
	want := `msg="joined the consumer group" group=g generation=1 partitions=2 read_from="arrivals/0@0 arrivals/1@0"`
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), want) {
		t.Errorf("logged:\n%s", log.String())
	}
}

func TestStartLatestIsCommittedAtOnce(t *testing.T) {
	s, seen := newStack(t, 2), &recorder{}
	s.send(30)
	o := s.options(seen)
	o.Source.Start = kafka.Latest
	stop := s.start(o)
	s.wait("the start is committed", func() bool { return s.committed() == 30 })
	expect.OK(t, stop())
	s.send(10) // while nobody reads
	stop = s.start(o)
	s.wait("the rest is committed", func() bool { return s.committed() == 40 })
	expect.OK(t, stop())
	if got := s.size(predictionsTopic); got != 10 {
		t.Errorf("%d predictions, want the 10 that came after the start", got)
	}
}

func TestATopicIsWaitedForAndNewPartitionsAreRead(t *testing.T) {
	s, seen := newStack(t, 1), &recorder{}
	expect.OK(t, s.kafka.Cluster.DeleteTopic(arrivalsTopic))
	s.wait("the client has noticed", func() bool { return s.missing(arrivalsTopic) })
	stop := s.start(s.options(seen))
	expect.OK(t, s.kafka.Cluster.CreateTopic(arrivalsTopic, 1, nil))
	s.send(20)
	s.wait("all is committed", func() bool { return s.committed() == 20 })
	s.addPartitions(4)
	s.wait("the new partitions are assigned", func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return len(seen.assigned[len(seen.assigned)-1]) == 4
	})
	s.send(40)
	s.wait("all is committed", func() bool { return s.committed() == 60 })
	expect.OK(t, stop())
}

func TestRunWaitsForAVersion(t *testing.T) {
	s := newStack(t, 1)
	s.send(5)
	versions := serve(nil)
	o := s.options(&recorder{})
	o.Path.Versions = versions
	stop := s.start(o)
	time.Sleep(20 * time.Millisecond)
	if info := s.kafka.Cluster.GroupInfo("g"); info != nil {
		t.Error("joined the group without a version to serve")
	}
	versions.swap(newTestVersion("v1"))
	s.wait("all is committed", func() bool { return s.committed() == 5 })
	expect.OK(t, stop())
	s.check()
}
