package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"rivulet/kafka/fetch"
	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
)

// ReaderOptions are a [Reader]'s. Zero values mean the defaults of [SourceOptions].
type ReaderOptions struct {
	Topic string
	// Group, where not empty, is the group whose offsets [Reader.Group] reads and [Reader.Commit] stores. Nobody may
	// consume in it: no generation fences the commits.
	Group      string
	FetchBytes int
	FetchWait  time.Duration
}

// Reader reads all partitions of one topic outside of any group's generations, isolation read_committed.
type Reader struct {
	client *Client
	opts   ReaderOptions
	with   retry.Patience
}

// NewReader checks the options. It opens no connection.
func NewReader(c *Client, o ReaderOptions, p retry.Patience) (*Reader, error) {
	if o.Topic == "" {
		return nil, errors.New("kafka: no topic to read")
	}
	if err := errors.Join(fill("FetchBytes", &o.FetchBytes, defaultFetchBytes),
		fill("FetchWait", &o.FetchWait, defaultFetchWait)); err != nil {
		return nil, err
	}
	return &Reader{client: c, opts: o, with: p.Complete()}, nil
}

// electionPatience is the time that [Reader.ToEnd] waits for a partition's leader.
const electionPatience = 30 * time.Second

// ToEnd reads from given offsets, or the earliest one of a partition that has none among them, to where each
// partition ended when ToEnd was called, and gives every record to take, partition by partition in the order of
// offsets. It returns the next offsets to read. An error of ctx or take ends it, and one of brokers that lasts longer
// than an election takes.
func (r *Reader) ToEnd(ctx context.Context, from Offsets, take func(Record) error) (Offsets, error) {
	ids, _, err := r.client.topicIDs(ctx, r.opts.Topic)
	if err != nil {
		return nil, err
	}
	next, ends, err := r.Range(ctx)
	if err != nil {
		return nil, err
	}
	for at := range next {
		if offset, given := from[at]; given {
			next[at] = offset
		}
	}
	for p := range len(next) {
		at := TopicPartition{Topic: r.opts.Topic, Partition: p}
		c := r.cursor(at, next[at], ids[r.opts.Topic])
		c.patience = electionPatience
		for c.next < ends[at] {
			records, _, err := c.Await(ctx)
			if err != nil {
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				return nil, err
			}
			for _, rec := range records {
				if rec.Position.Offset >= ends[at] {
					break
				}
				if err := take(rec); err != nil {
					return nil, err
				}
			}
		}
		next[at] = min(c.next, max(ends[at], next[at]))
	}
	return next, nil
}

// cursor returns a cursor that sends requests of its own, as a reader asks for one partition at a time.
func (r *Reader) cursor(at TopicPartition, offset int64, topic topicID) *Cursor {
	c := r.client.cursor(at, offset, r.opts.FetchBytes, wire.Largest, r.opts.FetchWait, r.with)
	c.id, c.alone = topic, true
	return c
}

// Commit stores the next offsets to read for the group.
func (r *Reader) Commit(ctx context.Context, next Offsets) error {
	if r.opts.Group == "" {
		return errors.New("kafka: committing without a group")
	}
	if _, err := r.client.commitMarked(ctx, r.Member(), next, -1); err != nil {
		return fmt.Errorf("committing offsets of group %s: %w", r.opts.Group, err)
	}
	return nil
}

// Member names the reader's group, without a generation: with it a Reader is the [Committer] of transactions that feed
// records of its topic in again.
func (r *Reader) Member() Member {
	return Member{Group: r.opts.Group, Generation: -1, note: readerNote}
}

// Follow passes every record that comes after the call to take, from all partitions, one at a time, until ctx ends;
// then it returns nil. Failures are waited for, and logged once; a failure that waiting does not mend is returned. A
// topic that does not exist yet is waited for and read whole, as are partitions that are added later (looked up every 5
// s). started, where not nil, is called when reading begins.
func (r *Reader) Follow(ctx context.Context, started func(), take func(Record)) error {
	f := &followState{Reader: r, take: take, which: kafkago.LastOffset}
	trouble := r.with.Outage("topic " + r.opts.Topic).StartsOver(r.client.startsOver()).Attempts()
	reading, stop := context.WithCancelCause(ctx)
	defer f.wait.Wait()
	defer stop(nil)
	for first := true; reading.Err() == nil; {
		fresh, err := f.fresh(reading)
		if err != nil {
			if err := trouble.Failed(reading, err); err != nil {
				stop(err)
			}
			continue
		}
		trouble.Over()
		for _, c := range fresh {
			f.wait.Go(func() {
				if err := f.follow(reading, c); errors.Is(err, retry.ErrGeneration) && reading.Err() == nil {
					f.park(c)
				} else {
					stop(err)
				}
			})
		}
		if first && started != nil {
			started()
		}
		first = false
		_ = retry.Sleep(reading, r.with.Clock, defaultWatchInterval)
	}
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(reading)
}

// followState is the state of one call of Follow.
type followState struct {
	*Reader
	known int   // partitions that are read
	which int64 // where to begin in others

	wait   sync.WaitGroup
	mu     sync.Mutex
	take   func(Record)
	parked []*Cursor // whose waits started over: each is read again once the topic has its partition
}

// park lets a cursor rest until the topic is looked at again: its partition may be gone.
func (f *followState) park(c *Cursor) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parked = append(f.parked, c)
}

// fresh returns cursors for the partitions that are not read yet.
func (f *followState) fresh(ctx context.Context) (cursors []*Cursor, err error) {
	topic := f.opts.Topic
	counts, err := f.client.countPartitions(ctx, topic)
	if errors.Is(err, kafkago.UnknownTopicOrPartition) {
		f.which = kafkago.FirstOffset
	}
	if err != nil {
		return nil, err
	}
	ids := map[string]topicID{}
	if f.known < counts[topic] {
		if ids, _, err = f.client.topicIDs(ctx, topic); err != nil {
			return nil, err
		}
	}
	for p := f.known; p < counts[topic]; p++ {
		at := TopicPartition{Topic: topic, Partition: p}
		offset, err := f.client.boundary(ctx, at, f.which)
		if err != nil {
			return nil, err
		}
		c := f.cursor(at, offset, ids[topic])
		c.follows, c.alone = true, counts[topic] <= fetch.Few
		cursors = append(cursors, c)
	}
	f.known, f.which = max(f.known, counts[topic]), kafkago.FirstOffset
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parked = slices.DeleteFunc(f.parked, func(c *Cursor) bool {
		there := c.at.Partition < counts[topic]
		if there {
			cursors = append(cursors, c)
		}
		return there
	})
	return cursors, nil
}

// follow reads one partition until ctx ends or an error does not mend by itself.
func (f *followState) follow(ctx context.Context, c *Cursor) error {
	for {
		records, _, err := c.Await(ctx)
		if err != nil {
			return err
		}
		for _, rec := range records {
			f.mu.Lock()
			f.take(rec)
			f.mu.Unlock()
		}
	}
}

// readerNote is stored with every offset that a [Reader] commits, so that the offsets of consumers can be told from
// them.
const readerNote = "rivulet refresh"

// ReaderGroup describes a Reader's group: its consuming members, and its offsets in the topic.
type ReaderGroup struct {
	Members []string // client ids of its consumers; a Reader is never a member
	Offsets Offsets  // next offsets, of partitions that have one
	Foreign bool     // some of Offsets were not committed by a Reader
}

// Group asks for the state of the group.
func (r *Reader) Group(ctx context.Context) (*ReaderGroup, error) {
	at, err := r.partitions(ctx)
	if err != nil {
		return nil, err
	}
	g := &ReaderGroup{Offsets: Offsets{}}
	if g.Members, err = r.client.members(ctx, r.opts.Group); err != nil {
		return nil, err
	}
	stored, err := r.client.positions(ctx, r.opts.Group, at, true)
	if errors.Is(err, kafkago.GroupIdNotFound) { // it has never committed
		return g, nil
	}
	if err != nil {
		return nil, err
	}
	for at, p := range stored {
		if p.offset >= 0 {
			g.Offsets[at] = p.offset
			g.Foreign = g.Foreign || p.metadata != readerNote
		}
	}
	return g, nil
}

// partitions returns the partitions of the topic.
func (r *Reader) partitions(ctx context.Context) ([]TopicPartition, error) {
	counts, err := r.client.countPartitions(ctx, r.opts.Topic)
	if err != nil {
		return nil, err
	}
	at := make([]TopicPartition, counts[r.opts.Topic])
	for p := range at {
		at[p] = TopicPartition{Topic: r.opts.Topic, Partition: p}
	}
	return at, nil
}

// Range returns the first offset of each partition of the topic, and the one after the last record.
func (r *Reader) Range(ctx context.Context) (first, end Offsets, err error) {
	all, err := r.partitions(ctx)
	if err != nil {
		return nil, nil, err
	}
	if first, err = r.client.boundaries(ctx, all, kafkago.FirstOffset); err == nil {
		end, err = r.client.boundaries(ctx, all, kafkago.LastOffset)
	}
	return first, end, err
}
