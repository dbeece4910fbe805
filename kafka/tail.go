package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// ErrGone is returned for a record that is not in the log, or not any more.
var ErrGone = errors.New("there is no such record, or not any more")

// TailOptions are a [Tail]'s.
type TailOptions struct {
	// Since is the time of the oldest records to read. Partitions that come later are read from the beginning.
	Since time.Time
	// Backlog is the most records of a partition that may lie before its end and are still read; at least 1.
	Backlog int64
}

// Tail reads the newest records of one topic for the live page: outside of any group's generations, isolation
// read_committed. It commits nothing, and if it cannot keep up it leaves records out. One goroutine at a time uses it.
type Tail struct {
	reader  *Reader
	opts    TailOptions
	id      topicID
	looked  bool
	ends    Offsets
	cursors map[TopicPartition]*Cursor
	skipped int64
}

// Sight is a [Tail]'s view of its topic.
type Sight struct {
	Ends Offsets // where the committed records of each partition end
	// Anew says that this is another log than at the look before: the topic was made anew, or cut off.
	Anew bool
}

// Tail returns a tail of the reader's topic. It opens no connection.
func (r *Reader) Tail(o TailOptions) *Tail {
	return &Tail{reader: r, opts: o, cursors: map[TopicPartition]*Cursor{}}
}

// Look finds out where the partitions end now. An error changes nothing.
func (t *Tail) Look(ctx context.Context) (Sight, error) {
	all, err := t.reader.partitions(ctx)
	if err != nil {
		return Sight{}, err
	}
	ids, known, err := t.reader.client.topicIDs(ctx, t.reader.opts.Topic)
	if err != nil {
		return Sight{}, err
	}
	ends, err := t.reader.client.boundaries(ctx, all, kafkago.LastOffset)
	if err != nil {
		return Sight{}, err
	}
	id := ids[t.reader.opts.Topic]
	s := Sight{Ends: maps.Clone(ends), Anew: t.looked && known && id != t.id}
	for at, end := range t.ends {
		s.Anew = s.Anew || ends[at] < end
	}
	if s.Anew {
		clear(t.cursors)
		t.opts.Since = time.Time{} // all of the new log is news
	}
	t.id, t.ends, t.looked = id, ends, true
	return s, nil
}

// Read returns the records of one fetch of each partition that has some before the end that was last looked at.
func (t *Tail) Read(ctx context.Context) (records []Record, err error) {
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	for at, end := range t.ends {
		c := t.cursors[at]
		if from := end - t.opts.Backlog; c.next < from {
			t.skipped += from - c.next
			c.next, c.answer, c.epoch = from, nil, -1
		}
		if c.next >= end {
			continue
		}
		some, _, err := c.fetch(ctx)
		if err != nil {
			return records, err
		}
		records = append(records, some...)
	}
	return records, nil
}

// Skipped returns how many records were left out since the call before.
func (t *Tail) Skipped() int64 {
	n := t.skipped
	t.skipped = 0
	return n
}

// Behind returns how many records are left before the ends that were last looked at.
func (t *Tail) Behind() (n int64) {
	for at, end := range t.ends {
		if c := t.cursors[at]; c != nil {
			n += max(0, end-c.next)
		}
	}
	return n
}

// begin makes cursors for partitions that have none.
func (t *Tail) begin(ctx context.Context) error {
	var fresh []TopicPartition
	for at := range t.ends {
		if t.cursors[at] == nil {
			fresh = append(fresh, at)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	from, err := t.reader.client.boundaries(ctx, fresh, kafkago.FirstOffset)
	if err != nil {
		return err
	}
	if !t.opts.Since.IsZero() {
		if from, err = t.reader.since(ctx, fresh, t.opts.Since, t.ends); err != nil {
			return err
		}
	}
	for _, at := range fresh {
		next := max(from[at], t.ends[at]-t.opts.Backlog)
		t.cursors[at] = t.reader.cursor(at, next, t.id)
	}
	t.opts.Since = time.Time{}
	return nil
}

// Since returns the offset of the first record of each partition that is not older than a time, or where the
// partition ends if all are.
func (r *Reader) Since(ctx context.Context, at time.Time) (Offsets, error) {
	all, err := r.partitions(ctx)
	if err != nil {
		return nil, err
	}
	ends, err := r.client.boundaries(ctx, all, kafkago.LastOffset)
	if err != nil {
		return nil, err
	}
	return r.since(ctx, all, at, ends)
}

func (r *Reader) since(ctx context.Context, all []TopicPartition, at time.Time, ends Offsets) (Offsets, error) {
	from, err := r.client.boundaries(ctx, all, at.UnixMilli())
	for p, offset := range from {
		if offset < 0 || offset > ends[p] {
			from[p] = ends[p]
		}
	}
	return from, err
}

// At returns the record at a place of the topic, [ErrGone] where there is none.
func (r *Reader) At(ctx context.Context, partition int, offset int64) (Record, error) {
	at := TopicPartition{Topic: r.opts.Topic, Partition: partition}
	gone := fmt.Errorf("reading %s/%d at offset %d: %w", at.Topic, partition, offset, ErrGone)
	all, err := r.partitions(ctx)
	if err != nil {
		return Record{}, err
	}
	if !slices.Contains(all, at) {
		return Record{}, gone
	}
	ends, err := r.client.boundaries(ctx, []TopicPartition{at}, kafkago.LastOffset)
	if err != nil {
		return Record{}, err
	}
	if offset < 0 || offset >= ends[at] {
		return Record{}, gone
	}
	ids, _, err := r.client.topicIDs(ctx, at.Topic)
	if err != nil {
		return Record{}, err
	}
	for c := r.cursor(at, offset, ids[at.Topic]); c.next <= offset; {
		records, _, err := c.fetch(ctx)
		if err != nil {
			return Record{}, err
		}
		for _, rec := range records {
			if rec.Position.Offset == offset {
				return rec, nil
			}
		}
	}
	return Record{}, gone
}

// Committed returns the offsets that a group has committed for the topic, without partitions that have none.
func (r *Reader) Committed(ctx context.Context, group string) (Offsets, error) {
	all, err := r.partitions(ctx)
	if err != nil {
		return nil, err
	}
	offsets, err := r.client.groupOffsets(ctx, group, all, false)
	if errors.Is(err, kafkago.GroupIdNotFound) { // it has never committed
		return Offsets{}, nil
	}
	maps.DeleteFunc(offsets, func(_ TopicPartition, offset int64) bool { return offset < 0 })
	return offsets, err
}
