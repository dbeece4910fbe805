package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"rivulet/event"
)

// ReaderOptions are a [Reader]'s.
type ReaderOptions struct {
	// Brokers are the bootstrap addresses, Transport carries all requests; both as in [Options].
	Brokers   []string
	Transport kafka.RoundTripper
	Topic     string
	// Group, where not empty, is whose offsets [Reader.ToEnd] begins at and [Reader.Commit] stores. It must be of nobody who
	// consumes: no generation fences it.
	Group string
	// FetchBytes and FetchWait are as in [Options].
	FetchBytes int
	FetchWait  time.Duration
	// Clock paces repeated attempts; nil: the machine's. Logger is told of outages; nil: none.
	Clock  Clock
	Logger *slog.Logger
}

// Reader reads all partitions of one topic outside of any group's generations, isolation read_committed.
type Reader struct {
	c     *Consumer // what a consumer asks of brokers, without its loop
	topic string
}

// NewReader checks the options. It opens no connection.
func NewReader(o ReaderOptions) (*Reader, error) {
	opts := Options{Brokers: o.Brokers, Transport: o.Transport, Group: o.Group, Topics: []string{o.Topic}, FetchBytes: o.FetchBytes, FetchWait: o.FetchWait,
		Logger: o.Logger, Path: PipelineOptions{Clock: o.Clock}}
	if opts.Group == "" {
		opts.Group = "none" // not asked for
	}
	if o.Topic == "" {
		return nil, errors.New("consumer: no topic to read")
	}
	if err := opts.complete(); err != nil {
		return nil, err
	}
	opts.Group, opts.Rand = o.Group, rand.Float64
	return &Reader{topic: o.Topic, c: &Consumer{opts: opts,
		client: kafka.Client{Addr: kafka.TCP(opts.Brokers...), Transport: opts.Transport, Timeout: hung}}}, nil
}

// ToEnd reads from the group's offsets, or the earliest ones where there is no group or it has none, to where each
// partition ended when ToEnd was called, and gives every record to take, partition by partition in the order of offsets.
// It returns the next offsets to read. The first error ends it: of brokers, ctx or take.
func (r *Reader) ToEnd(ctx context.Context, take func(Record) error) (map[event.TopicPartition]int64, error) {
	next, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	ends := make(map[event.TopicPartition]int64, len(next))
	for at := range next {
		if ends[at], err = r.c.boundary(ctx, at, kafka.LastOffset); err != nil {
			return nil, err
		}
	}
	for p := range len(next) {
		at := event.TopicPartition{Topic: r.topic, Partition: p}
		f := r.fetcher(at, next[at])
		for f.next < ends[at] {
			if err := r.fetch(ctx, f, func(rec Record) error {
				if rec.Source.Offset >= ends[at] {
					return nil
				}
				return take(rec)
			}); err != nil {
				return nil, err
			}
		}
		next[at] = min(f.next, max(ends[at], next[at]))
	}
	return next, nil
}

// fetch asks once, and begins anew at the earliest offset where records have expired.
func (r *Reader) fetch(ctx context.Context, f *fetcher, take func(Record) error) error {
	records, _, err := f.fetch(ctx)
	if errors.Is(err, kafka.OffsetOutOfRange) {
		return r.c.rewind(ctx, f)
	}
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("reading %s/%d at offset %d: %w", f.at.Topic, f.at.Partition, f.next, err)
	}
	for _, rec := range records {
		if err := take(rec); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) fetcher(at event.TopicPartition, offset int64) *fetcher {
	return &fetcher{addr: r.c.client.Addr, transport: r.c.opts.Transport, at: at, next: offset, maxBytes: r.c.opts.FetchBytes,
		wait: r.c.opts.FetchWait, isolation: kafka.ReadCommitted}
}

// begin is where ToEnd starts in each partition.
func (r *Reader) begin(ctx context.Context) (map[event.TopicPartition]int64, error) {
	counts, err := r.c.countPartitions(ctx)
	if err != nil {
		return nil, err
	}
	next := map[event.TopicPartition]int64{}
	assigned := map[string][]int{}
	for p := range counts[r.topic] {
		assigned[r.topic] = append(assigned[r.topic], p)
		next[event.TopicPartition{Topic: r.topic, Partition: p}] = -1
	}
	if r.c.opts.Group != "" {
		committed, err := r.c.committed(ctx, assigned)
		if err != nil && !errors.Is(err, kafka.GroupIdNotFound) { // a group that never committed
			return nil, err
		}
		maps.Copy(next, committed)
	}
	for at, offset := range next {
		if offset < 0 {
			if next[at], err = r.c.boundary(ctx, at, kafka.FirstOffset); err != nil {
				return nil, err
			}
		}
	}
	return next, nil
}

// Commit stores the next offsets to read for the group.
func (r *Reader) Commit(ctx context.Context, next map[event.TopicPartition]int64) error {
	if r.c.opts.Group == "" {
		return errors.New("consumer: committing without a group")
	}
	var offsets []kafka.OffsetCommit
	for at, offset := range next {
		offsets = append(offsets, kafka.OffsetCommit{Partition: at.Partition, Offset: offset})
	}
	answer, err := r.c.client.OffsetCommit(ctx, &kafka.OffsetCommitRequest{GroupID: r.c.opts.Group, GenerationID: -1,
		Topics: map[string][]kafka.OffsetCommit{r.topic: offsets}})
	if err != nil {
		return fmt.Errorf("committing offsets of group %s: %w", r.c.opts.Group, err)
	}
	for _, p := range answer.Topics[r.topic] {
		if p.Error != nil {
			return fmt.Errorf("committing the offset of group %s for %s/%d: %w", r.c.opts.Group, r.topic, p.Partition, p.Error)
		}
	}
	return nil
}

// Follow gives every record that comes after the call to take, from all partitions, one at a time, until ctx ends; then it
// returns nil. What fails is waited for, and said once. A topic that does not exist yet is waited for and read whole, and so
// are partitions that come later, once they are looked at anew (every WatchInterval of a consumer, 5 s). started, where not
// nil, is called when reading begins.
func (r *Reader) Follow(ctx context.Context, started func(), take func(Record)) error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	defer wg.Wait()
	trouble := r.c.outage("topic " + r.topic)
	known, which := 0, int64(kafka.LastOffset)
	for {
		counts, err := r.c.countPartitions(ctx)
		if errors.Is(err, kafka.UnknownTopicOrPartition) {
			which = kafka.FirstOffset
		}
		next := map[event.TopicPartition]int64{}
		for p := known; err == nil && p < counts[r.topic]; p++ {
			at := event.TopicPartition{Topic: r.topic, Partition: p}
			next[at], err = r.c.boundary(ctx, at, which)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && permanent(err):
			return err
		case err != nil:
			if trouble.failed(ctx, err) != nil {
				return nil
			}
			continue
		}
		trouble.over()
		for at, offset := range next {
			wg.Go(func() { r.follow(ctx, at, offset, &mu, take) })
		}
		if known == 0 && started != nil {
			started()
		}
		known, which = max(known, counts[r.topic]), kafka.FirstOffset
		if sleep(ctx, r.c.opts.Path.Clock, r.c.opts.WatchInterval) != nil {
			return nil
		}
	}
}

// follow reads one partition until ctx ends.
func (r *Reader) follow(ctx context.Context, at event.TopicPartition, offset int64, mu *sync.Mutex, take func(Record)) {
	f, trouble := r.fetcher(at, offset), r.c.outage(StageFetch, "topic", at.Topic, "partition", at.Partition)
	for ctx.Err() == nil {
		err := r.fetch(ctx, f, func(rec Record) error {
			mu.Lock()
			defer mu.Unlock()
			take(rec)
			return nil
		})
		switch {
		case err == nil:
			trouble.over()
		case ctx.Err() != nil || trouble.failed(ctx, err) != nil: // an end is no trouble
			return
		}
	}
}
