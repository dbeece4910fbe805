package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/test/chaos/record"
	"rivulet/test/chaos/stream"
	"rivulet/test/chaos/world"
	"rivulet/test/harness"
)

// poisoned has half of the records be such that nobody can predict them.
func poisoned(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	for _, s := range r.streams {
		s.Shares.Poisoned.Store(50)
		defer s.Shares.Poisoned.Store(quietPoison) //nolint:revive // all of them, when the window ends
	}
	return 0, r.rises(ctx, "dead letters come", 20, letters, func() error {
		return harness.Sleep(ctx, between(rng, 3*time.Second, 6*time.Second))
	})
}

func letters(s *stream.Stream) int64 { return int64(s.Ledger.Letters()) }

// rises does something, and waits until a count of each stream is higher than before by more than so much.
func (r *run) rises(ctx context.Context, what string, by int64, count func(*stream.Stream) int64,
	do func() error) error {
	before := make([]int64, len(r.streams))
	for i, s := range r.streams {
		before[i] = count(s)
	}
	err := do()
	for i, s := range r.streams {
		if err == nil {
			err = r.eventually(ctx, s, what, func() bool { return count(s) > before[i]+by })
		}
	}
	return err
}

// quietPoison is the number among a hundred arrivals that are poisoned at other times.
const quietPoison = 1

// sizes sends records of one byte, of exactly the limit, of a byte more, and of sizes between.
func sizes(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	for _, s := range r.streams {
		s.Shares.Padded.Store(60)
		defer s.Shares.Padded.Store(0) //nolint:revive // all of them, when the window ends
		s.Sending.Lock()
		for _, m := range r.world.Arrivals[:3] {
			text := s.Text(&m)
			room := record.MaxBytes - len(text) - 1 // beside a key of one byte
			s.SendOne(ctx, []byte("k"), m.ID, record.Value{Bytes: record.Padded(text, room)})
			s.SendOne(ctx, []byte("k"), m.ID, record.Value{Bytes: record.Padded(text, room+1), Reason: event.ReasonTooLarge})
			s.SendOne(ctx, []byte("k"), m.ID, record.Value{Bytes: []byte("{"), Reason: event.ReasonUnparsable})
		}
		s.Sending.Unlock()
	}
	return 0, harness.Sleep(ctx, between(rng, 3*time.Second, 6*time.Second))
}

// keyless has the topics of answers be compacted, which take no records without a key, and sends arrivals without
// one.
func keyless(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	return 0, r.configured(ctx, map[string]string{"cleanup.policy": "compact"},
		map[string]string{"cleanup.policy": "delete"},
		&kgo.Record{Value: []byte("no key")}, kerr.InvalidRecord, func() error {
			for _, s := range r.streams {
				s.Shares.Keyless.Store(40)
				s.Shares.Poisoned.Store(20)
			}
			err := harness.Sleep(ctx, between(rng, 3*time.Second, 6*time.Second))
			for _, s := range r.streams {
				s.Shares.Keyless.Store(0)
				s.Shares.Poisoned.Store(quietPoison)
			}
			return errors.Join(err, harness.Sleep(ctx, 3*time.Second)) // until they are answered
		})
}

// smallMessages has the topics of answers take small batches only: of some predictions, and of dead
// letters that are cut.
func smallMessages(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	small := 4096 + rng.IntN(4096)
	return 0, r.configured(ctx, map[string]string{"max.message.bytes": fmt.Sprint(small)},
		map[string]string{"max.message.bytes": fmt.Sprint(world.BrokerLimit)},
		&kgo.Record{Key: []byte("k"), Value: bytes.Repeat([]byte("large "), small/4)}, kerr.MessageTooLarge,
		func() error {
			for _, s := range r.streams {
				s.Shares.Poisoned.Store(10)
				s.Burst(ctx, 10*stream.BatchSize)
			}
			err := harness.Sleep(ctx, between(rng, 3*time.Second, 6*time.Second))
			for _, s := range r.streams {
				s.Shares.Poisoned.Store(quietPoison)
			}
			return errors.Join(err, harness.Sleep(ctx, 3*time.Second)) // until they are answered
		})
}

// configured sets settings of the topics of answers, waits until they refuse a probe for the right reason, does
// something, and sets the settings back.
func (r *run) configured(ctx context.Context, during, after map[string]string, probe *kgo.Record, refusal error,
	do func() error) error {
	var topics []string
	for _, s := range r.streams {
		topics = append(topics, s.Topic("predictions"), s.Topic("letters"))
	}
	return r.world.Kafka.During(ctx, during, after, topics, func() error {
		if err := r.refusing(ctx, topics, probe, refusal); err != nil {
			return err
		}
		return do()
	})
}

// refusing waits until topics refuse a probe for the right reason.
func (r *run) refusing(ctx context.Context, topics []string, probe *kgo.Record, refusal error) error {
	for _, topic := range topics {
		var last error
		// If the broker that was killed was the controller too, its partitions have another leader only later.
		err := harness.Await(ctx, 2*time.Minute, fmt.Sprintf("%s refuses a record: %v", topic, refusal), func() bool {
			last = r.world.Probe(ctx, topic, *probe)
			return errors.Is(last, refusal)
		})
		if err = r.took(err == nil, "%v; the last attempt: %v", err, last); err != nil {
			return err
		}
	}
	return nil
}

// bombs sends batches of records that are small on the wire and large when unpacked, between arrivals that can be
// predicted.
func bombs(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	return 0, r.measured(ctx, func() error {
		for _, s := range r.streams {
			size := (64 + rng.IntN(64)) << 20
			bomber, err := kgo.NewClient(kgo.SeedBrokers(r.world.Kafka.Addrs...),
				kgo.ProducerBatchCompression(kgo.ZstdCompression()),
				kgo.BrokerMaxWriteBytes(256<<20), kgo.ProducerBatchMaxBytes(200<<20),
				kgo.ProducerLinger(200*time.Millisecond))
			if err != nil {
				return err
			}
			first, last := r.world.Arrivals[0], r.world.Arrivals[1]
			key := []byte("key-0")
			batch := []*kgo.Record{s.Record(key, first.ID, record.Value{Bytes: s.Text(&first)}),
				s.Record(key, "", record.Value{Bytes: bytes.Repeat([]byte{' '}, size), Reason: event.ReasonTooLarge}),
				s.Record(key, last.ID, record.Value{Bytes: s.Text(&last)})}
			err = s.SendBatch(ctx, bomber, batch)
			bomber.Close()
			if err == nil {
				err = r.took(batch[2].Offset == batch[0].Offset+2 &&
					batch[1].Attrs.CompressionType() == 4, "the bomb is not in one batch, or not packed")
			}
			if err != nil {
				return fmt.Errorf("%s: a batch that unpacks to %d MiB: %w", s.Name, size>>20, err)
			}
		}
		return nil
	})
}

// manyHeaders sends poison with so many headers that the record is as large as the brokers take: with a dead
// letter's own headers it is larger.
func manyHeaders(ctx context.Context, r *run, _ *rand.Rand) (int, error) {
	return 0, r.measured(ctx, func() error {
		for _, s := range r.streams {
			sender, err := kgo.NewClient(kgo.SeedBrokers(r.world.Kafka.Addrs...),
				kgo.ProducerBatchMaxBytes(world.BrokerLimit),
				kgo.ProducerBatchCompression(kgo.NoCompression()))
			if err != nil {
				return err
			}
			for n := 80_650; n > 80_000; n -= 2 { // as many as fit beside the ones for the reader
				p := record.Value{Bytes: []byte("{"), Reason: event.ReasonUnparsable}
				for range n {
					p.Headers = append(p.Headers, kgo.RecordHeader{Key: "h", Value: []byte("0123456789")})
				}
				if err = s.SendBatch(ctx, sender, []*kgo.Record{s.Record([]byte("bad"), "", p)}); !errors.Is(err,
					kerr.MessageTooLarge) {
					break
				}
			}
			sender.Close()
			if err != nil {
				return fmt.Errorf("%s: a record of many headers: %w", s.Name, err)
			}
		}
		return nil
	})
}

// memoryGrowth is by how many bytes a consumer's memory may grow.
const memoryGrowth = 64 << 20

// measured calls do, waits until the streams have answered, and compares the peak of each consumer's resident memory
// with its memory before.
func (r *run) measured(ctx context.Context, do func() error) error {
	before := map[int]int64{} // by process
	for _, s := range r.streams {
		for which := range 2 {
			id := s.Members[which].ID()
			now, err := harness.ResetPeak(id)
			if err != nil {
				return r.took(false, "the memory of %s: %v", s.Client(which), err)
			}
			before[id] = now
		}
	}
	if err := r.rises(ctx, "it is answered", 0, letters, do); err != nil {
		return err
	}
	if err := harness.Sleep(ctx, 2*time.Second); err != nil {
		return err
	}
	for _, s := range r.streams {
		for which := range 2 {
			id := s.Members[which].ID()
			peak, err := harness.PeakMemory(id)
			if was, same := before[id]; same && err == nil && peak > was+memoryGrowth {
				r.fail(fmt.Errorf("%s: %s: %d MiB of memory became %d MiB at most, %d more may be",
					r.dealt[len(r.dealt)-1].fault.name,
					s.Client(which), was>>20, peak>>20, int64(memoryGrowth)>>20))
			}
		}
	}
	return nil
}
