package kafka

import (
	"errors"
	"sync"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/rawproduce"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// remake makes the topic of predictions anew with one partition, and waits until client hears of it.
func (b *bench) remake(client *Client) {
	b.t.Helper()
	if err := b.kafka.Cluster.DeleteTopic("predictions"); err != nil {
		b.t.Fatal(err)
	}
	if err := b.kafka.Cluster.CreateTopic("predictions", 1, nil); err != nil {
		b.t.Fatal(err)
	}
	for range 500 {
		if n, err := client.countPartitions(b.t.Context(), "predictions"); err == nil && n["predictions"] == 1 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.t.Fatal("nobody heard of the new topic")
}

// packed is a shipment of n records for the partitions that there are now.
func (b *bench) packed(sink *Sink, n int) *Shipment {
	b.t.Helper()
	sh := sink.Shipment()
	for _, r := range numbered(0, n) {
		if err := sh.Add(b.t.Context(), "predictions", &r); err != nil {
			b.t.Fatal(err)
		}
	}
	return sh
}

// Records that were placed in partitions which are gone are not tried for ever: the generation ends, and they are read
// again.
func TestAPartitionThatIsGoneEndsTheGeneration(t *testing.T) {
	b := newBench(t, 4)
	sink := b.sink()
	sh := b.packed(sink, 20)
	b.remake(b.way)
	_, err := sink.Publish(t.Context(), sh)
	if !errors.Is(err, retry.ErrGeneration) || retry.Judge(err) != retry.GenerationOver {
		t.Fatalf("published with %v, want the end of the generation", err)
	}
	for _, seen := range b.seen() {
		if !errors.Is(seen, kafkago.UnknownTopicOrPartition) {
			t.Errorf("waited for %v", seen)
		}
	}
	if len(b.seen()) < missingFor {
		t.Errorf("%d attempts, want %d before a partition is taken to be gone", len(b.seen()), missingFor)
	}
}

func TestAPartitionThatIsGoneEndsTheTransaction(t *testing.T) {
	b := newBench(t, 4)
	tx := b.transactions(anybody, zero)
	sh := b.packed(tx.sink, 20)
	b.remake(b.way)
	if _, err := tx.Publish(t.Context(), sh, Offsets{zero: 20}); !errors.Is(err, retry.ErrGeneration) {
		t.Fatalf("published with %v, want the end of the generation", err)
	}
	b.want(0, -1)
	tx = b.transactions(anybody, zero)
	expect.OK(t, deliver(t.Context(), tx, batch(anybody, zero, 0, 20)))
	b.want(20, 20)
}

func TestSendPlacesRecordsAnewIfPartitionsAreGone(t *testing.T) {
	b := newBench(t, 4)
	var once sync.Once
	b.way.transport = before{b.way.transport, func(req kafkago.Request) {
		if _, produces := req.(*rawproduce.Request); produces {
			once.Do(func() { b.remake(b.way) })
		}
	}}
	expect.OK(t, b.sink().Send(t.Context(), "predictions", numbered(0, 20)))
	got := make(map[string]bool) // one partition's records may have been written before the others were found to be gone
	for _, r := range b.read("predictions", 0) {
		got[string(r.Value)] = true
	}
	if len(got) != 20 {
		t.Errorf("%d of 20 records are in the new topic", len(got))
	}
}
