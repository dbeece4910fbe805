package consumer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"rivulet/event"
	"rivulet/event/read"
	"rivulet/internal/gather"
	"rivulet/kafka"
)

// chunk holds the records that one fetch brought of one partition.
type chunk struct {
	at      kafka.TopicPartition
	records []kafka.Record
	// messages, joined, deadLetters and unmatched are as in an Intake
	messages    []*read.Message
	joined      map[kafka.Position][]event.Edge
	deadLetters []event.DeadLetter
	unmatched   [][2]string
	// next is the offset to read after the whole chunk. It lies beyond the last record where the log has holes.
	next    int64
	fetched time.Time
}

// batcher cuts chunks into batches. One goroutine at a time uses it.
type batcher struct {
	gather.Bounds // its bytes count keys, values and headers
	queue         gather.Queue[chunk]
	// member and formed keep the names of batches apart. formed is the number of batches that the consumer has formed so
	// far, in all generations: a generation may begin again, as where a topic was deleted and made anew.
	member kafka.Member
	formed *atomic.Int64

	// throttle returns the pause that the broker asked for at the last publish, 0 if none, and how many it has asked for.
	throttle func() (pause time.Duration, asked int64)
	most     int   // records of the next batch under a quota; 0: as many as the bounds allow
	asked    int64 // by then

	rest   chunk // the part of the chunk under way that is in no batch yet
	filled int   // bytes of the batch that is being formed
}

// next forms a batch in the memory of buf: it closes when no further record fits into it, or when the queue's linger
// has passed since its first record was fetched and no more are waiting. When ctx ends, the batch closes at once; it
// has no name only if ctx ended before the first one came.
func (b *batcher) next(ctx context.Context, buf []kafka.Record) Intake {
	in := Intake{Records: buf[:0]}
	if !b.more(ctx) {
		return in
	}
	first := kafka.Position{Topic: b.rest.at.Topic, Partition: b.rest.at.Partition, Offset: b.rest.next}
	if len(b.rest.records) > 0 {
		first = b.rest.records[0].Position
	}
	begun := b.rest.fetched
	in.Name = batchName(&first, b.member, b.formed.Add(1))
	in.Offsets = make(kafka.Offsets, 1)
	b.filled = 0
	b.pace()
	for b.take(&in) && len(in.Records) < b.limit() && b.moreOf(ctx, begun) {
	}
	return in
}

// longThrottle is the pause after a publish above which batches are made smaller.
const longThrottle = 5 * time.Second

// pace halves the batches while Kafka holds the producer to a quota and asks for long pauses: what is published is
// committed more often then, and a transaction is over before it expires. Without a pause they double again.
func (b *batcher) pace() {
	if b.throttle == nil {
		return
	}
	pause, asked := b.throttle()
	switch {
	case pause > longThrottle && asked > b.asked:
		b.most = max(1, b.limit()/2)
	case pause == 0 && b.most > 0:
		if b.most *= 2; b.most >= b.Records {
			b.most = 0
		}
	}
	b.asked = asked
}

// limit returns the most records of a batch.
func (b *batcher) limit() int { return cmp.Or(b.most, b.Records) }

// batchName returns the name of the n-th batch of a consumer, such as arrivals-0-41-g3-1h8u0qz3kfxw2, which no other
// batch ever has. Partition, offset and generation do not suffice: they come again when a topic or its group is deleted
// and made anew, and offsets also when a log is truncated. Brokers give an id to a member once only, so the name ends
// with a hash of it and n; this holds without topic ids (Kafka < 2.8), too.
func batchName(first *kafka.Position, by kafka.Member, n int64) string {
	own := strconv.FormatUint(xxhash.Sum64String(fmt.Sprint(by.ID, "/", n)), 36)
	return fmt.Sprintf("%s-%d-%d-g%d-%s", first.Topic, first.Partition, first.Offset, by.Generation, own)
}

// take moves records from the chunk under way to the batch, and reports whether they all fitted.
func (b *batcher) take(in *Intake) bool {
	n := b.room(len(in.Records))
	whole := n == len(b.rest.records)
	if n == 0 && !whole {
		return false
	}
	in.Records = append(in.Records, b.rest.records[:n]...)
	if b.rest.messages != nil {
		in.Messages, b.rest.messages = append(in.Messages, b.rest.messages[:n]...), b.rest.messages[n:]
	}
	if in.Joined == nil {
		in.Joined = b.rest.joined
	} else if b.rest.joined != nil {
		in.Joined = maps.Clone(in.Joined) // it is a chunk's
		maps.Copy(in.Joined, b.rest.joined)
	}
	if whole {
		in.Offsets[b.rest.at] = b.rest.next
		in.DeadLetters, b.rest.deadLetters = append(in.DeadLetters, b.rest.deadLetters...), nil
		in.Unmatched, b.rest.unmatched = append(in.Unmatched, b.rest.unmatched...), nil
	} else {
		in.Offsets[b.rest.at] = b.rest.records[n-1].Position.Offset + 1
	}
	b.rest.records = b.rest.records[n:]
	return whole
}

// room returns how many more records fit into a batch that has some, and counts their bytes.
func (b *batcher) room(has int) int {
	records := b.rest.records[:min(b.limit()-has, len(b.rest.records))]
	for n := range records {
		size := recordBytes(&records[n])
		for _, e := range b.rest.joined[records[n].Position] {
			size += len(e.Source) + len(e.Target)
		}
		if !b.Admit(has+n, b.filled, 1, size) {
			return n
		}
		b.filled += size
	}
	return len(records)
}

// recordBytes returns the size of key, value and headers.
func recordBytes(r *kafka.Record) int {
	size := len(r.Key) + len(r.Value)
	for i := range r.Headers {
		size += len(r.Headers[i].Key) + len(r.Headers[i].Value)
	}
	return size
}

// more waits for records.
func (b *batcher) more(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	if len(b.rest.records) > 0 {
		return true
	}
	return b.begin(b.queue.First(ctx))
}

// moreOf waits for records of a batch that began at a time.
func (b *batcher) moreOf(ctx context.Context, begun time.Time) bool {
	if ctx.Err() != nil {
		return false
	}
	if len(b.rest.records) > 0 {
		return true
	}
	return b.begin(b.queue.Next(ctx, begun))
}

// begin makes a chunk the one under way, if there is one.
func (b *batcher) begin(c chunk, is bool) bool {
	if is {
		b.rest = c
	}
	return is
}
