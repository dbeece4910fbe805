package page

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"rivulet/event/read"
	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// How often the topics are looked at.
const (
	every       = 500 * time.Millisecond
	backlog     = 20_000 // records of a partition that may be ahead; earlier ones are left out
	historyStep = 10 * time.Second
)

// watch follows the topics until ctx ends. Failures are shown on the page and tried again.
func (p *Page) watch(ctx context.Context) {
	var wait sync.WaitGroup
	defer wait.Wait()
	since := p.tally.now().Add(-p.o.History)
	type of struct {
		topic
		name   string
		reader *kafka.Reader
		take   func(*kafka.Record)
	}
	for _, w := range []of{
		{arrivals, p.o.Topics.Arrivals, p.o.Arrivals, nil},
		{predictions, p.o.Topics.Predictions, p.o.Predictions, func(r *kafka.Record) {
			p.tally.predicted(r, p.o.Labels != nil)
		}},
		{deadLetterTopic, p.o.Topics.DeadLetters, p.o.DeadLetters, p.tally.died},
	} {
		wait.Go(func() {
			f := follower{page: p, topic: w.topic, name: w.name, reader: w.reader, take: w.take,
				tail: w.reader.Tail(kafka.TailOptions{Since: since, Backlog: backlog})}
			f.run(ctx, since)
		})
	}
	if p.o.Labels != nil {
		wait.Go(func() { p.followLabels(ctx) })
	}
	wait.Go(func() { p.light(ctx) })
	wait.Go(func() { p.poll(ctx, "kafka: the group's offsets", 2*every, p.readLag) })
}

// died takes a record of the topic of dead letters.
func (t *tally) died(rec *kafka.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dead.take(rec)
}

// follower follows one topic.
type follower struct {
	page   *Page
	topic  topic
	name   string
	reader *kafka.Reader
	tail   *kafka.Tail
	take   func(*kafka.Record) // nil: its records are counted only
}

func (f *follower) run(ctx context.Context, since time.Time) {
	begun := false
	f.page.poll(ctx, "kafka: topic "+f.name, every, func(ctx context.Context) error {
		sight, err := f.tail.Look(ctx)
		if err != nil {
			return err
		}
		at := f.page.tally.now()
		f.page.tally.looked(f.topic, f.name, sight, at)
		if !begun {
			if err := f.history(ctx, since, at); err != nil {
				return err
			}
			begun = true
		}
		if f.take == nil {
			return nil
		}
		return f.read(ctx)
	})
}

// rounds is the number of fetches of each partition that one look is followed by at most.
const rounds = 8

// read reads up to where the partitions ended.
func (f *follower) read(ctx context.Context) error {
	for range rounds {
		records, err := f.tail.Read(ctx)
		for k := range records {
			f.take(&records[k])
		}
		if err != nil {
			return err
		}
		if f.tail.Behind() == 0 {
			break
		}
	}
	if n := f.tail.Skipped(); n > 0 && f.topic == predictions {
		f.page.tally.mu.Lock()
		f.page.tally.skipped += n
		f.page.tally.mu.Unlock()
	}
	return nil
}

// history fills the rates from a time on by the offsets that the topic's records had at each step.
func (f *follower) history(ctx context.Context, from, to time.Time) error {
	before := int64(-1)
	for at := from.Truncate(historyStep); at.Before(to); at = at.Add(historyStep) {
		offsets, err := f.reader.Since(ctx, at)
		if err != nil {
			return err
		}
		n := int64(0)
		for _, offset := range offsets {
			n += offset
		}
		if before >= 0 {
			f.page.tally.history(f.topic, at.Add(-historyStep), at, n-before)
		}
		before = n
	}
	return nil
}

// readLag reads the group's committed offsets.
func (p *Page) readLag(ctx context.Context) error {
	offsets, err := p.o.Arrivals.Committed(ctx, p.o.Group)
	if err == nil {
		p.tally.committed(offsets)
	}
	return err
}

// followLabels reads the topic of labels from now on.
func (p *Page) followLabels(ctx context.Context) {
	tail := p.o.Labels.Tail(kafka.TailOptions{Since: p.tally.now(), Backlog: backlog})
	p.poll(ctx, "kafka: labels", every, func(ctx context.Context) error {
		if _, err := tail.Look(ctx); err != nil {
			return err
		}
		records, err := tail.Read(ctx)
		p.tally.mu.Lock()
		defer p.tally.mu.Unlock()
		for k := range records {
			if l, err := p.o.LabelForms.Label(read.Record{Value: records[k].Value, Headers: records[k].Headers}); err == nil {
				p.tally.labels.label(l)
			}
		}
		return err
	})
}

// poll calls work again and again until ctx ends, and keeps account of its errors under a name.
func (p *Page) poll(ctx context.Context, name string, pause time.Duration, work func(context.Context) error) {
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, patience)
		err := work(limited)
		cancel()
		if ctx.Err() != nil {
			return
		}
		p.trouble(name, err)
		_ = retry.Sleep(ctx, retry.SystemClock{}, pause)
	}
}

// patience is the time that one look may take.
const patience = 10 * time.Second

// Status lists the page's troubles.
type Status struct {
	Troubles []Trouble `json:"troubles"`
}

// Trouble is something that fails.
type Trouble struct {
	What  string `json:"what"`
	Since int64  `json:"since"` // ms since 1970
	Error string `json:"error"`
}

// trouble notes that something failed, or with nil that it works, and logs where that changes.
func (p *Page) trouble(what string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, had := p.troubles[what]
	switch {
	case err == nil && had:
		delete(p.troubles, what)
		p.o.Log.Info("the page sees it again", "what", what)
	case err != nil && !had:
		p.troubles[what] = Trouble{what, p.tally.now().UnixMilli(), shown(err.Error())}
		p.o.Log.Warn("the page cannot see it", "what", what, "error", err)
	case err != nil:
		before.Error = shown(err.Error())
		p.troubles[what] = before
	}
}

func (p *Page) status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Status{Troubles: slices.AppendSeq([]Trouble{}, maps.Values(p.troubles))}
	slices.SortFunc(s.Troubles, func(a, b Trouble) int { return cmp.Compare(a.What, b.What) })
	return s
}
