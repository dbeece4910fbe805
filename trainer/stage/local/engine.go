package local

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"rivulet/trainer/stage"
)

// Progress is told of an engine's stages.
type Progress interface {
	// Stage is called as a stage begins, done 0, and as its keys are done.
	Step(what string, done, total int)
}

// Engine runs stages in this process. It is not safe for concurrent use; its stages use all processors.
type Engine struct {
	registry stage.Registry
	store    store
	memory   int64 // bytes that stages may take; 0: no bound
	workers  int
	progress Progress
	lock     *flock.Flock
	made     map[string]func(context.Context) error // makes a dropped table again
	// Ran counts the stages that were run, Found the stages whose tables were there.
	Ran, Found int
}

// NewMemory returns an engine with tables in memory.
func NewMemory(r stage.Registry, p Progress) *Engine {
	return &Engine{registry: r, store: newMemory(), workers: runtime.GOMAXPROCS(0), progress: p,
		made: map[string]func(context.Context) error{}}
}

// lockFile is held by the process that uses a directory.
const lockFile = "lock"

// Open returns an engine with tables in files of a directory, which is created, and stages that take about so
// many bytes of memory. An error if another process uses the directory. [Engine.Close] it.
func Open(r stage.Registry, dir string, memory int64, p Progress) (*Engine, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	lock := flock.New(filepath.Join(dir, lockFile))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("working directory %s is used by another process", dir), err)
	}
	d, err := newDisk(dir, max(1<<20, memory/16))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("working directory: %w", err), lock.Unlock())
	}
	return &Engine{registry: r, store: d, memory: memory, workers: runtime.GOMAXPROCS(0), progress: p, lock: lock,
		made: map[string]func(context.Context) error{}}, nil
}

// Close releases the directory. Its tables stay.
func (e *Engine) Close() error {
	if e.lock == nil {
		return nil
	}
	return e.lock.Unlock()
}

// Clean removes the tables of a directory, and the directory if nothing else is in it.
func Clean(dir string) error {
	lock := flock.New(filepath.Join(dir, lockFile))
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err != nil {
		return fmt.Errorf("cleaning %s: it is no working directory of a training run: %w", dir, err)
	}
	if ok, err := lock.TryLock(); err != nil || !ok {
		return errors.Join(fmt.Errorf("cleaning %s: it is used by another process", dir), err)
	}
	defer func() { _ = lock.Unlock() }()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := filepath.Join(dir, entry.Name())
		_, err := os.Stat(filepath.Join(name, contentsFile))
		if err == nil || strings.HasSuffix(name, partial) {
			if err := os.RemoveAll(name); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(filepath.Join(dir, lockFile)); err != nil {
		return err
	}
	_ = os.Remove(dir) // something else is in it
	return nil
}

// names are the names of a stage's outputs.
func names(s stage.Spec, inputs ...string) []string {
	out := make([]string, s.Outputs)
	for k := range out {
		out[k] = s.Table(k, inputs...)
	}
	return out
}

// once returns the tables of a stage, and runs it unless all are there.
func (e *Engine) once(ctx context.Context, what string, names []string,
	run func(ctx context.Context, out *outputs) error) ([]stage.Table, error) {
	again := func(ctx context.Context) error { _, err := e.make(ctx, what, names, run); return err }
	for _, name := range names {
		e.made[name] = again
	}
	found := make([]stage.Table, len(names))
	for k, name := range names {
		t, ok, err := e.store.find(name)
		if err != nil {
			return nil, fmt.Errorf("stage %s: %w", what, err)
		}
		if !ok {
			return e.make(ctx, what, names, run)
		}
		found[k] = t
	}
	e.Found++
	return found, nil
}

// make runs a stage.
func (e *Engine) make(ctx context.Context, what string, names []string,
	run func(ctx context.Context, out *outputs) error) ([]stage.Table, error) {
	out, err := e.create(names)
	if err == nil {
		err = errors.Join(run(ctx, out), ctx.Err())
	}
	if err != nil {
		out.abandon()
		return nil, fmt.Errorf("stage %s: %w", what, err)
	}
	e.Ran++
	tables, err := out.finish()
	if err != nil {
		return nil, fmt.Errorf("stage %s: %w", what, err)
	}
	return tables, nil
}

// there makes tables again that were dropped.
func (e *Engine) there(ctx context.Context, tables ...stage.Table) error {
	for _, t := range tables {
		_, ok, err := e.store.find(t.Name)
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		again := e.made[t.Name]
		if again == nil {
			return fmt.Errorf("table %s is not there", t.Name)
		}
		if err := again(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Put implements [stage.Engine].
func (e *Engine) Put(ctx context.Context, name string, records []stage.Record) (stage.Table, error) {
	tables, err := e.once(ctx, name, []string{name}, func(_ context.Context, out *outputs) error {
		for _, r := range records {
			if err := out.Emit(0, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return stage.Table{}, err
	}
	return tables[0], nil
}

// Read implements [stage.Engine].
func (e *Engine) Read(ctx context.Context, t stage.Table) iter.Seq2[stage.Record, error] {
	return func(yield func(stage.Record, error) bool) {
		if err := e.read(ctx, t, func(r stage.Record) bool { return yield(r, nil) }); err != nil {
			yield(stage.Record{}, fmt.Errorf("reading table %s: %w", t.Name, err))
		}
	}
}

func (e *Engine) read(ctx context.Context, t stage.Table, yield func(stage.Record) bool) error {
	if err := e.there(ctx, t); err != nil {
		return err
	}
	keys, err := e.store.keys(t.Name)
	if err != nil {
		return err
	}
	for _, key := range keys {
		records, err := e.store.load(t.Name, key)
		if err != nil {
			return err
		}
		slices.SortStableFunc(records, stage.Compare)
		for _, r := range records {
			if !yield(r) {
				return nil
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Drop implements [stage.Engine].
func (e *Engine) Drop(_ context.Context, t stage.Table) error {
	_, ok, err := e.store.find(t.Name)
	if err != nil || !ok {
		return err
	}
	return e.store.remove(t.Name)
}

// outputs are the tables that a stage writes.
type outputs struct{ writers []writer }

func (e *Engine) create(names []string) (*outputs, error) {
	out := &outputs{}
	for _, name := range names {
		w, err := e.store.create(name)
		if err != nil {
			return out, err
		}
		out.writers = append(out.writers, w)
	}
	return out, nil
}

// Emit implements [stage.Output] for several goroutines.
func (o *outputs) Emit(output int, r stage.Record) error {
	r.Tag = 0
	return o.writers[output].write(r)
}

func (o *outputs) finish() ([]stage.Table, error) {
	tables := make([]stage.Table, len(o.writers))
	for k, w := range o.writers {
		t, err := w.finish()
		if err != nil {
			return nil, err
		}
		tables[k] = t
	}
	return tables, nil
}

func (o *outputs) abandon() {
	for _, w := range o.writers {
		w.abandon()
	}
}
