package repartition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"rivulet/consumer/limits"
	"rivulet/consumer/schemas"
	"rivulet/event"
	"rivulet/event/form"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/producer"
)

// Observer is told of a router's work.
type Observer interface {
	retry.Observer
	// Rebalance is called when a generation of the group begins, with the partitions that it assigned to this member.
	Rebalance(assigned []kafka.TopicPartition)
	// Lag is called after each fetch: lag is how many records of the partition are left to read.
	Lag(at kafka.TopicPartition, lag int64)
	// Committed is called for each transaction.
	Committed(Stats)
}

// Stats describe a transaction that was committed.
type Stats struct {
	// Outcomes has the number of records of each [Outcome], DeadLetters the reasons of dead letters. Dropped are the
	// brokers' reasons, as kafka's Refused constants, for those that their topic takes in no form.
	Outcomes             [outcomes]int
	DeadLetters, Dropped []string
	// Times are the records' timestamps, At is when the transaction was committed.
	Times []time.Time
	At    time.Time
}

// Options of a router. All are needed but for the last four.
type Options struct {
	Kafka *kafka.Client
	// Source says how the topics are read, in a group of the router's own. Its Topics and RecordBytes are set here.
	Source kafka.SourceOptions
	// Nodes are the topics of arrivals, Edges those of edges; To is the topic that they are brought to.
	Nodes, Edges []string
	To           string
	// NodeForms and EdgeForms read their records.
	NodeForms, EdgeForms form.Reader
	// Ends says which ends of an edge get it. Directed says that edges have directions, so that an edge under its target
	// is one that leads to it; else only an edge's own "in" says so.
	Ends     Ends
	Directed bool
	// Sink and Transactions write, DeadLetters sets aside what cannot be read. They are of the same sink.
	Sink         *kafka.Sink
	Transactions *kafka.Transactions
	DeadLetters  *producer.Producer
	Observer     Observer
	// DrainTimeout is how long the transaction in hand has to end after Run's context has ended.
	DrainTimeout time.Duration

	Limits   limits.Limits
	Registry schemas.Registry // has the schemas of both forms; nil: there is none
	Clock    retry.Clock      // nil: the machine's
	Logger   *slog.Logger     // nil: none
}

// Router is a member of the group that reads the topics of nodes and edges. It is used by one goroutine.
type Router struct {
	opts    Options
	wait    retry.Patience
	source  *kafka.Source
	schemas *retry.Outage

	arrival event.Arrival // memory of route
}

// New checks the options. It opens no connection and starts nothing.
func New(o Options) (*Router, error) {
	o.Source.Topics, o.Source.RecordBytes = slices.Concat(o.Nodes, o.Edges), o.Limits.RecordBytes
	wait := retry.Patience{Clock: o.Clock, Observer: o.Observer, Logger: o.Logger}.Complete()
	o.Clock, o.Logger = wait.Clock, wait.Logger
	source, err := kafka.NewSource(o.Kafka, o.Source, wait)
	return &Router{opts: o, wait: wait, source: source, schemas: schemas.Outage(wait)}, err
}

// Run writes records until ctx ends; then the transaction in hand is committed, the group is left, and Run returns nil.
// It waits for topics and brokers, and returns an error only for failures that waiting does not mend.
func (r *Router) Run(ctx context.Context) error {
	if err := r.source.Await(ctx); err != nil {
		return unless(ctx, err)
	}
	defer r.source.Leave() //nolint:contextcheck // nothing of the last generation is under way any more
	for {
		g, err := r.source.Join(ctx)
		if err != nil {
			return unless(ctx, err)
		}
		err = r.serve(ctx, g)
		if err != nil && retry.Judge(err) != retry.GenerationOver {
			return unless(ctx, err)
		}
		if g.End(ctx, err) != nil {
			return nil
		}
	}
}

// unless returns err, or nil if ctx has ended.
func unless(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Why a generation stops reading.
var (
	errRebalance = errors.New("the group is being rebalanced")
	errChanged   = errors.New("the topics have other partitions than before")
)

// serve reads and writes the partitions of a generation until ctx or the generation ends, or something fails. It
// returns when nothing of the generation is under way any more.
func (r *Router) serve(ctx context.Context, g *kafka.Generation) error {
	reading, stop := context.WithCancelCause(ctx)
	defer context.AfterFunc(g.Rebalance(), func() { stop(errRebalance) })() //nolint:contextcheck // the generation's own
	work, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cut(nil)
	defer stop(nil)

	// Earlier owners are kept out before the offsets are read: until then these may change.
	if err := r.opts.Transactions.Begin(reading, g, g.Assigned()); err != nil {
		return ended(reading, err)
	}
	cursors, err := g.Cursors(reading)
	if err != nil {
		return ended(reading, err)
	}
	r.opts.Observer.Rebalance(g.Assigned())
	r.opts.Logger.Info("joined the group of the repartition", "group", g.Member().Group, "generation",
		g.Member().Generation, "partitions", len(cursors))
	queue := make(chan fetched)
	all := make(inflows, len(cursors))
	for i, cursor := range cursors {
		all[i] = newInflow(cursor.Partition())
		wait.Go(func() {
			if err := r.read(reading, cursor, all[i], queue); err != nil {
				stop(err)
			}
		})
	}
	wait.Go(func() {
		if g.Changed(reading) {
			stop(errChanged)
		}
	})
	wait.Go(func() { // the transaction in hand must not outlast the generation, nor a drain
		<-reading.Done()
		limit := r.source.RebalanceTimeout() / 2
		if ctx.Err() != nil {
			limit = r.opts.DrainTimeout
		}
		if retry.Sleep(work, r.opts.Clock, limit) == nil {
			cut(fmt.Errorf("%w: its last transaction took too long", retry.ErrGeneration))
		}
	})
	return r.write(reading, work, g, all, queue)
}

// ended returns nil if an error only says that reading has ended for a reason that is no failure.
func ended(reading context.Context, err error) error {
	cause := context.Cause(reading)
	if cause == nil || !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(cause, errRebalance) || errors.Is(cause, errChanged) || errors.Is(cause, context.Canceled) {
		return nil
	}
	return cause
}

// read hands over the records of one partition until ctx ends.
func (r *Router) read(ctx context.Context, cursor *kafka.Cursor, in *inflow, queue chan<- fetched) error {
	forms := &r.opts.NodeForms
	if slices.Contains(r.opts.Edges, in.at.Topic) {
		forms = &r.opts.EdgeForms
	}
	learner := schemas.New(forms, r.opts.Registry, r.schemas.Attempts())
	for {
		records, lag, err := cursor.Await(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		r.opts.Observer.Lag(in.at, lag)
		if learner.Await(ctx, records...) != nil {
			return nil
		}
		if len(records) > 0 {
			select {
			case <-in.room:
			case <-ctx.Done():
				return nil
			}
		}
		select {
		case queue <- fetched{in, records, cursor.Next(), lag > 0}:
		case <-ctx.Done():
			return nil
		}
	}
}

// write writes what the readers hand over, a transaction after the other, until reading ends.
func (r *Router) write(reading, work context.Context, g *kafka.Generation, all inflows, queue <-chan fetched) error {
	var records []kafka.Record
	for {
		for waiting := true; waiting; {
			select {
			case <-reading.Done():
				return ended(reading, context.Cause(reading))
			case f := <-queue:
				f.add()
				continue
			default:
			}
			if waiting = !all.ready(); waiting {
				select {
				case <-reading.Done():
				case f := <-queue:
					f.add()
				}
			}
		}
		next := kafka.Offsets{}
		records = all.take(records[:0], next)
		if err := r.deliver(work, g, records, next); err != nil {
			return cmp.Or(context.Cause(work), err)
		}
		clear(records)
	}
}

// deliver writes records, in one transaction with the offsets behind them.
func (r *Router) deliver(ctx context.Context, g *kafka.Generation, records []kafka.Record, next kafka.Offsets) error {
	var stats Stats
	var letters []event.DeadLetter
	var from []int // the record that each of the shipment is of
	shipment := r.opts.Sink.Shipment()
	for i := range records {
		rec := &records[i]
		out, outcome, err := r.route(rec)
		if err != nil {
			outcome, letters = DeadLetter, append(letters, deadLetter(rec, event.FaultOf(err)))
		}
		stats.Outcomes[outcome]++
		stats.Times = append(stats.Times, rec.Time)
		for k := range out {
			if err := shipment.Add(ctx, r.opts.To, &out[k]); err != nil {
				return err
			}
			from = append(from, i)
		}
	}
	sent, err := r.opts.Transactions.Publish(ctx, shipment, next, g)
	if err != nil {
		return err
	}
	letters = append(letters, r.refused(records, from, sent.Refused())...)
	if len(letters) > 0 {
		dropped, err := r.opts.DeadLetters.SetAside(ctx, sent, letters)
		if err != nil {
			return err
		}
		for _, d := range dropped {
			stats.Dropped, letters[d.Place].Reason = append(stats.Dropped, d.Reason()), ""
		}
	}
	if err := sent.Commit(ctx); err != nil {
		return err
	}
	for i := range letters {
		if reason := letters[i].Reason; reason != "" {
			stats.DeadLetters = append(stats.DeadLetters, reason)
		}
	}
	stats.At = sent.Published()
	r.opts.Observer.Committed(stats)
	return nil
}

// refused returns dead letters of records that the topic of arrivals does not take. from has the records' places, by
// those in the shipment.
func (r *Router) refused(records []kafka.Record, from []int, refusals []kafka.Refusal) (letters []event.DeadLetter) {
	last := -1
	for _, refusal := range refusals {
		if from[refusal.Place] == last {
			continue // the other end of the same edge
		}
		last = from[refusal.Place]
		reason := event.ReasonUnparsable
		if errors.Is(refusal.Err, kafka.MessageTooLarge) || errors.Is(refusal.Err, kafka.RecordListTooLarge) {
			reason = event.ReasonTooLarge
		}
		letters = append(letters, deadLetter(&records[last], event.Errorf(reason, "",
			"topic %s does not take the record: %v", r.opts.To, refusal.Err)))
	}
	return letters
}

func deadLetter(rec *kafka.Record, fault *event.FieldError) event.DeadLetter {
	return event.DeadLetter{Key: rec.Key, Value: rec.Value, Headers: rec.Headers, Source: event.Source(rec.Position),
		IngestTime: rec.Time, Reason: fault.Reason, Detail: fault.Error()}
}
