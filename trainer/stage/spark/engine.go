package spark

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"rivulet/trainer/stage"
)

// Progress is told of an engine's stages.
type Progress interface {
	// Step is called as a stage begins, done 0, and as its tasks are done.
	Step(what string, done, total int)
}

// Options say how an engine works.
type Options struct {
	Work       string          // a directory that all of Spark's machines see: a path, s3a://…, gs://…, hdfs://…
	Partitions int             // of a shuffle
	Workers    map[string]File // from [Workers]
	Progress   Progress
}

// Engine runs stages in Spark. It is not safe for concurrent use.
type Engine struct {
	Options
	runner Runner
	// attempt is the directory, of a stage, in which this run writes rows. A run of which only the driver was killed may
	// still write, in another directory.
	attempt string
	// pending are statements that the next call runs first.
	pending []string
	done    map[string]stageResult // stages by directory
	where   map[string]place       // tables by name
	made    map[string]func(context.Context) error
	// Ran counts the stages that were run, Found the stages whose tables were there.
	Ran, Found int
}

// place is where a table's rows are.
type place struct {
	stage  string
	dir    string // of the stage's rows
	output int
}

// stageResult is the content of a stage's file done.
type stageResult struct {
	Stage   string        `json:"stage"` // the name of its directory
	Rows    string        `json:"rows"`  // the directory of its rows, in that one
	Tables  []stage.Table `json:"tables"`
	Dropped bool          `json:"dropped,omitempty"` // its rows are gone: they are made again if they are read
}

// doneMark begins the text of a finished stage.
const doneMark = "rivulet-stage-2 "

// Open returns an engine. It asks Spark which stages are finished.
func Open(ctx context.Context, r Runner, o Options) (*Engine, error) {
	o.Work = strings.TrimRight(o.Work, "/")
	if err := checkPath(o.Work); err != nil {
		return nil, fmt.Errorf("working directory of Spark: %w", err)
	}
	if o.Partitions < 1 {
		return nil, fmt.Errorf("partitions is %d, want 1 or more", o.Partitions)
	}
	e := &Engine{Options: o, runner: r, attempt: newAttempt(), pending: settings(o.Partitions),
		done: map[string]stageResult{}, where: map[string]place{},
		made: map[string]func(context.Context) error{}}
	for _, w := range o.Workers {
		if err := r.Send(ctx, w); err != nil {
			return nil, err
		}
	}
	rows, err := e.ask(ctx, "SELECT s FROM "+parquet(o.Work+"/*/done"))
	if isMissing(err) {
		e.pending = settings(o.Partitions)
		return e, nil
	}
	if err != nil {
		return nil, words(err)
	}
	for _, row := range rows {
		var f stageResult
		text, ok := strings.CutPrefix(row, doneMark)
		if !ok || json.Unmarshal([]byte(text), &f) != nil || f.Stage == "" || !ofRows.MatchString(f.Rows) {
			return nil, fmt.Errorf("working directory %s is of another build, or of something else: %.80q", o.Work, row)
		}
		e.know(f)
	}
	return e, nil
}

// know notes a finished stage.
func (e *Engine) know(f stageResult) {
	e.done[f.Stage] = f
	for k, t := range f.Tables {
		if !f.Dropped {
			e.where[t.Name] = place{f.Stage, e.rows(f), k}
		}
	}
}

// newAttempt names a directory of rows.
func newAttempt() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return "rows-" + hex.EncodeToString(b[:])
}

func (e *Engine) rows(f stageResult) string { return e.Work + "/" + f.Stage + "/" + f.Rows }
func (e *Engine) mark(name string) string   { return e.Work + "/" + name + "/done" }

// Close ends the session.
func (e *Engine) Close(ctx context.Context) error {
	err := e.flush(ctx)
	return errors.Join(err, e.runner.Close(ctx))
}

// flush runs the pending statements.
func (e *Engine) flush(ctx context.Context) error {
	if len(e.pending) == 0 || len(e.done) == 0 {
		return nil
	}
	_, err := e.ask(ctx, "")
	return words(err)
}

// stringRows are the strings of a small answer.
type stringRows struct {
	values []string
	tasks  func(done, total int)
}

func (c *stringRows) Tasks(done, total int) { c.tasks(done, total) }
func (c *stringRows) Strings(values []string) error {
	c.values = append(c.values, values...)
	return nil
}

// ask runs the pending statements, further ones and a query, and returns the query's strings.
func (e *Engine) ask(ctx context.Context, query string, statements ...string) ([]string, error) {
	c := &stringRows{tasks: func(int, int) {}}
	return c.values, e.run(ctx, c, query, statements...)
}

func (e *Engine) run(ctx context.Context, r Reporter, query string, statements ...string) error {
	all := slices.Concat(e.pending, statements)
	if err := e.runner.Run(ctx, all, query, r); err != nil {
		return err
	}
	e.pending = nil
	if e.runner.Saves() {
		e.pending = settings(e.Partitions) // each call is a session of its own
	}
	return nil
}

// Run implements [stage.Engine].
func (e *Engine) Run(ctx context.Context, s stage.Spec, inputs ...stage.Table) ([]stage.Table, error) {
	names := make([]string, len(inputs))
	want := int64(0)
	for k, t := range inputs {
		names[k] = t.Name
		want += t.Records
	}
	return e.once(ctx, s, names, want, func(ctx context.Context) (task, error) {
		places := make([]place, len(inputs))
		for k, t := range inputs {
			p, err := e.there(ctx, t.Name)
			if err != nil {
				return task{}, err
			}
			places[k] = p
		}
		return task{columns: recordColumns, from: records(places, s.Map), job: jobOf(s)}, nil
	})
}

// Read implements [stage.Engine].
func (e *Engine) Read(ctx context.Context, t stage.Table) iter.Seq2[stage.Record, error] {
	return func(yield func(stage.Record, error) bool) {
		r := &tableLoop{yield: yield}
		p, err := e.there(ctx, t.Name)
		if err == nil {
			err = words(e.run(ctx, r, fmt.Sprintf("SELECT concat(CAST(k AS STRING), ' ', base64(o), ' ', base64(p)) AS s FROM "+
				"(SELECT k, o, p FROM %s WHERE t = %d ORDER BY k, o)", parquet(p.dir), p.output)))
		}
		if err == nil && !r.stopped && r.count != t.Records {
			err = fmt.Errorf("%d records, want %d", r.count, t.Records)
		}
		if err != nil && !r.stopped {
			yield(stage.Record{}, fmt.Errorf("reading table %s: %w", t.Name, err))
		}
	}
}

// there returns where a table is, and makes it again if it was dropped.
func (e *Engine) there(ctx context.Context, name string) (place, error) {
	if p, ok := e.where[name]; ok {
		return p, nil
	}
	again := e.made[name]
	if again == nil {
		return place{}, fmt.Errorf("table %s is not there", name)
	}
	if err := again(ctx); err != nil {
		return place{}, err
	}
	return e.where[name], nil
}

// Drop implements [stage.Engine]. The rows of a stage are removed with its last table.
func (e *Engine) Drop(_ context.Context, t stage.Table) error {
	p, ok := e.where[t.Name]
	if !ok {
		return nil
	}
	delete(e.where, t.Name)
	for _, other := range e.where {
		if other.dir == p.dir {
			return nil
		}
	}
	f := e.done[p.stage]
	f.Dropped = true
	e.done[p.stage] = f
	mark, err := e.marking(f)
	e.pending = append(e.pending, mark, emptied(p.dir))
	return err
}

// emptied is the statement that takes a stage's rows. SQL removes no directories: a file of a few hundred bytes stays.
func emptied(dir string) string {
	return overwrite(dir, "SELECT 0 AS t, CAST(0 AS BIGINT) AS k, X'' AS o, X'' AS p WHERE false")
}

// unmarked is the statement that takes a stage's mark.
func (e *Engine) unmarked(name string) string {
	return overwrite(e.mark(name), "SELECT '' AS s WHERE false")
}

// marking is the statement that notes a stage as finished.
func (e *Engine) marking(f stageResult) (string, error) {
	text, err := json.Marshal(f)
	return overwrite(e.mark(f.Stage), "SELECT "+literal(doneMark+string(text))+" AS s"), err
}
