package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"rivulet/event"
	"rivulet/internal/gather"
	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// Letter is a record of a topic of dead letters.
type Letter struct {
	event.DeadLetter
	Time     time.Time // when it became a dead letter
	At       kafka.Position
	Trimmed  string // parts of the arrival that it lacks, "" for none
	Replayed int    // how often the arrival was fed in again before
}

// Letters reads the topic of dead letters, and feeds their arrivals in again.
type Letters struct {
	Client      *kafka.Client
	Topic       string
	Compression string
	// Group begins the names of groups, one a reason, whose offsets say up to where dead letters have been fed in again,
	// and of the transactional ids by which that happens exactly once.
	Group string
	Log   *slog.Logger
}

// Each gives every dead letter from a time on to take, partition by partition.
func (l *Letters) Each(ctx context.Context, from time.Time, take func(*Letter) error) error {
	r, err := l.reader("")
	if err != nil {
		return err
	}
	_, err = r.ToEnd(ctx, nil, func(rec kafka.Record) error {
		if rec.Time.Before(from) {
			return nil
		}
		letter := letterOf(&rec)
		return take(&letter)
	})
	return err
}

func (l *Letters) reader(group string) (*kafka.Reader, error) {
	return kafka.NewReader(l.Client, kafka.ReaderOptions{Topic: l.Topic, Group: group}, retry.Patience{Logger: l.Log})
}

func letterOf(rec *kafka.Record) Letter {
	letter := Letter{Time: rec.Time, At: rec.Position}
	letter.DeadLetter, letter.Trimmed, letter.Replayed = event.ReadDeadLetter(rec.Key, rec.Value, rec.Headers)
	return letter
}

// LetterOptions choose the dead letters that [Letters.Replay] feeds in again.
type LetterOptions struct {
	To     string    // topic; empty: of each record the one that it came from
	Lost   string    // topic of those that do not say where they came from, where To is empty
	Reason string    // of the dead letters
	From   time.Time // older ones are left out
	// Again also feeds in arrivals that an earlier call has fed in, and arrivals that became dead letters again after
	// that.
	Again bool
}

// LetterCounts counts the dead letters of one reason that a replay has read, by what it did with them.
type LetterCounts struct {
	Sent     int // fed in again
	Older    int // left out: older than From
	Replayed int // left out: fed in before, and dead letters again
	Trimmed  int // left out: they lack parts of their arrivals
}

// replayChunk is the number of dead letters that one transaction feeds in.
const replayChunk = 500

// Replay publishes the arrivals of dead letters, each under its key and with its headers, as they came, and a header
// that counts how often that happened. It begins where the last call for the same reason has ended, and stops at the
// offset that was the topic's end when it began. Arrivals and this offset are in one transaction: a call that is
// killed, or runs twice at a time, feeds nothing in twice.
func (l *Letters) Replay(ctx context.Context, o LetterOptions) (LetterCounts, error) {
	group := l.Group + ".dead-letters." + o.Reason
	r := &letterReplay{options: o, next: kafka.Offsets{}}
	r.arrivals = gather.Batch[fedIn]{Bounds: gather.Bounds{Records: replayChunk}, Do: r.publish}
	var err error
	if r.reader, err = l.reader(group); err != nil {
		return r.counts, err
	}
	if r.sink, err = kafka.NewSink(l.Client, l.Compression, retry.Patience{Logger: l.Log}); err != nil {
		return r.counts, err
	}
	if r.tx, err = r.sink.Transactions(group, 0); err != nil {
		return r.counts, err
	}
	_, ends, err := r.reader.Range(ctx)
	if err != nil {
		return r.counts, err
	}
	// it ends a replay that still runs, so offsets are read after it
	if err := r.tx.Begin(ctx, r.reader, slices.Collect(maps.Keys(ends))); err != nil {
		return r.counts, err
	}
	before, err := r.reader.Group(ctx)
	if err != nil {
		return r.counts, err
	}
	r.marks = before.Offsets
	// a topic made anew
	maps.DeleteFunc(r.marks, func(at kafka.TopicPartition, offset int64) bool { return offset > ends[at] })
	from := r.marks
	if o.Again {
		from = nil
	}
	if _, err := r.reader.ToEnd(ctx, from, func(rec kafka.Record) error { return r.take(ctx, &rec) }); err != nil {
		return r.counts, err
	}
	if err := r.arrivals.Flush(ctx); err != nil || len(r.next) == 0 {
		return r.counts, err
	}
	return r.counts, r.publish(ctx, nil) // those behind the last arrival need not be read again
}

// fedIn is an arrival and the topic that it goes to.
type fedIn struct {
	to      string
	arrival kafka.Record
}

// letterReplay is the state of one call of Replay.
type letterReplay struct {
	options  LetterOptions
	reader   *kafka.Reader
	sink     *kafka.Sink
	tx       *kafka.Transactions
	marks    kafka.Offsets // up to where earlier calls have come
	arrivals gather.Batch[fedIn]
	next     kafka.Offsets // next to read, not yet in a transaction
	counts   LetterCounts
}

// take adds a dead letter to the transaction if it is one to be fed in.
func (r *letterReplay) take(ctx context.Context, rec *kafka.Record) error {
	at := kafka.TopicPartition{Topic: rec.Position.Topic, Partition: rec.Position.Partition}
	letter := letterOf(rec)
	r.next[at] = max(rec.Position.Offset+1, r.marks[at])
	switch {
	case letter.Reason != r.options.Reason:
		return nil
	case letter.Time.Before(r.options.From):
		r.counts.Older++
		return nil
	case letter.Trimmed != "":
		r.counts.Trimmed++
		return nil
	case letter.Replayed > 0 && !r.options.Again:
		r.counts.Replayed++
		return nil
	}
	arrival := kafka.Record{Key: letter.Key, Value: letter.Value}
	for _, h := range letter.Headers {
		if h.Key != event.HeaderReplayed {
			arrival.Headers = append(arrival.Headers, h)
		}
	}
	arrival.Headers = append(arrival.Headers,
		event.Header{Key: event.HeaderReplayed, Value: strconv.AppendInt(nil, int64(letter.Replayed)+1, 10)})
	return r.arrivals.Add(ctx, fedIn{cmp.Or(r.options.To, letter.Source.Topic, r.options.Lost), arrival})
}

// publish commits a transaction with arrivals, and the offsets up to which the topic was read.
func (r *letterReplay) publish(ctx context.Context, arrivals []fedIn) error {
	shipment := r.sink.Shipment()
	for i := range arrivals {
		if err := shipment.Add(ctx, arrivals[i].to, &arrivals[i].arrival); err != nil {
			return err
		}
	}
	refused, err := r.tx.Publish(ctx, shipment, r.next)
	if err != nil {
		return fmt.Errorf("feeding dead letters in again: %w", errors.Join(err, r.tx.Abort(ctx)))
	}
	if len(refused) > 0 {
		return fmt.Errorf("%d records are refused, nothing of this transaction is fed in: %w", len(refused),
			errors.Join(refused[0].Err, r.tx.Abort(ctx)))
	}
	if err := r.tx.Commit(ctx); err != nil {
		return fmt.Errorf("feeding dead letters in again: whether the last %d were is seen by running it once more: %w",
			len(arrivals), err)
	}
	r.counts.Sent, r.next = r.counts.Sent+len(arrivals), kafka.Offsets{}
	return nil
}
