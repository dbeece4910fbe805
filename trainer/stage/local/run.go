package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"rivulet/trainer/stage"
)

// Run implements [stage.Engine].
func (e *Engine) Run(ctx context.Context, s stage.Spec, inputs ...stage.Table) ([]stage.Table, error) {
	return e.once(ctx, s.Name, names(s, tableNames(inputs)...), func(ctx context.Context, out *outputs) error {
		if err := e.there(ctx, inputs...); err != nil {
			return err
		}
		keys, err := e.keys(inputs)
		if err != nil {
			return err
		}
		return e.eachKey(ctx, s, inputs, keys, out)
	})
}

func tableNames(tables []stage.Table) []string {
	out := make([]string, len(tables))
	for k, t := range tables {
		out[k] = t.Name
	}
	return out
}

// keys are the keys of all tables together, ascending.
func (e *Engine) keys(tables []stage.Table) ([]int64, error) {
	var all []int64
	for _, t := range tables {
		keys, err := e.store.keys(t.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, keys...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// group returns the records of a key in all tables; those of tables[k] get tag k+first.
func (e *Engine) group(tables []stage.Table, key int64, first int) ([]stage.Record, error) {
	var all []stage.Record
	for tag, t := range tables {
		records, err := e.store.load(t.Name, key)
		if err != nil {
			return nil, err
		}
		for k := range records {
			records[k].Tag = int32(tag + first)
		}
		all = append(all, records...)
	}
	slices.SortFunc(all, stage.Compare)
	return all, nil
}

// size is the number of bytes of a key's records in all tables.
func (e *Engine) size(tables []stage.Table, key int64) (int64, error) {
	total := int64(0)
	for _, t := range tables {
		bytes, err := e.store.size(t.Name, key)
		if err != nil {
			return 0, err
		}
		total += bytes
	}
	return total, nil
}

// eachKey calls the function of a stage for all keys, with a function for each goroutine.
func (e *Engine) eachKey(ctx context.Context, s stage.Spec, inputs []stage.Table, keys []int64, out *outputs) error {
	most := int64(math.MaxInt64) // bytes that goroutines share
	if e.memory > 0 {
		most = e.memory / 2
	}
	room := semaphore.NewWeighted(most)
	c := e.counter(s.Name, len(keys))
	work := make(chan int64)
	return e.parallel(ctx, func(ctx context.Context) error { return feed(ctx, keys, work) }, func() error {
		f, err := e.registry.New(s)
		if err != nil {
			return err
		}
		for key := range work {
			bytes, err := e.size(inputs, key)
			if err != nil {
				return err
			}
			// The records as they lie there, and a function's copies and results; a key alone may take more than there is.
			bytes = min(3*bytes, most)
			if err := room.Acquire(ctx, bytes); err != nil {
				return err
			}
			err = e.oneKey(f, inputs, key, out)
			room.Release(bytes)
			if err != nil {
				return err
			}
			c.one()
		}
		return nil
	})
}

// feed sends keys, and closes the channel behind the last.
func feed(ctx context.Context, keys []int64, work chan<- int64) error {
	defer close(work)
	for _, key := range keys {
		select {
		case work <- key:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (e *Engine) oneKey(f stage.Function, inputs []stage.Table, key int64, out *outputs) error {
	records, err := e.group(inputs, key, 0)
	if err != nil {
		return err
	}
	return f.Reduce(key, stage.NewList(records), out)
}

// scanBytes and scanRows bound the rows that a function gets at once.
const (
	scanBytes = 1 << 20
	scanRows  = 1 << 14
)

// Scan implements [stage.Engine].
func (e *Engine) Scan(ctx context.Context, s stage.Spec, from stage.Source) ([]stage.Table, error) {
	if from.InPlace != nil {
		return nil, fmt.Errorf("table %s: %w", from.InPlace.Path, stage.ErrNotInPlace)
	}
	return e.once(ctx, s.Name, names(s, from.Identity), func(ctx context.Context, out *outputs) error {
		work := make(chan []stage.Record)
		return e.parallel(ctx, func(ctx context.Context) error {
			defer close(work)
			return batches(from, func(rows []stage.Record) error {
				select {
				case work <- rows:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		}, func() error {
			f, err := e.registry.New(s)
			if err != nil {
				return err
			}
			for rows := range work {
				if err := f.Reduce(0, stage.NewList(rows), out); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// batches cuts the rows of a source into runs of records that own their memory.
func batches(from stage.Source, use func([]stage.Record) error) error {
	var rows []stage.Record
	bytes := 0
	for row, err := range from.Rows {
		if err != nil {
			return err
		}
		rows, bytes = append(rows, stage.Record{Payload: slices.Clone(row)}), bytes+len(row)
		if bytes < scanBytes && len(rows) < scanRows {
			continue
		}
		if err := use(rows); err != nil {
			return err
		}
		rows, bytes = nil, 0
	}
	if len(rows) == 0 {
		return nil
	}
	return use(rows)
}

// parallel runs feed in one goroutine and work in as many as there are processors. The first error ends everything: it
// cancels feed's context and drops later items.
func (e *Engine) parallel(ctx context.Context, feed func(context.Context) error, work func() error) error {
	g, ctx := errgroup.WithContext(ctx)
	for range e.workers {
		g.Go(func() error { return guarded(work) })
	}
	g.Go(func() error { return feed(ctx) })
	return g.Wait()
}

// guarded turns a panic into an error, so that a broken table ends a run with a sentence.
func guarded(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			if e, ok := p.(error); ok {
				err = errors.Join(errors.New("panic"), e)
			}
		}
	}()
	return work()
}

// counter reports the keys of a stage as they are done.
type counter struct {
	mu          sync.Mutex
	what        string
	done, total int
	progress    Progress
}

func (e *Engine) counter(what string, total int) *counter {
	e.progress.Step(what, 0, total)
	return &counter{what: what, total: total, progress: e.progress}
}

func (c *counter) one() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	c.progress.Step(c.what, c.done, c.total)
}
