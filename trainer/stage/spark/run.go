package spark

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"rivulet/trainer/stage"
	"rivulet/trainer/stage/pipe"
)

// task has the parts of a stage's statement.
type task struct {
	columns, from string // given to the workers
	job           pipe.Job
}

// jobOf is the job of a stage. Its sides are named by [sidesOf].
func jobOf(s stage.Spec) pipe.Job {
	return pipe.Job{Stage: s.Name, Options: s.Options, Outputs: s.Outputs, Map: s.Map}
}

// once returns the tables of a stage, and runs it unless it is finished. want is the number of records that its workers
// must read, -1 if it is not known.
func (e *Engine) once(ctx context.Context, s stage.Spec, inputs []string, want int64,
	prepare func(context.Context) (task, error)) ([]stage.Table, error) {
	names := make([]string, s.Outputs)
	for k := range names {
		names[k] = s.Table(k, inputs...)
	}
	return e.named(ctx, s, names, want, prepare)
}

func (e *Engine) named(ctx context.Context, s stage.Spec, names []string, want int64,
	prepare func(context.Context) (task, error)) ([]stage.Table, error) {
	dir := names[0] // the stage's directory is called after its first table
	run := func(ctx context.Context) ([]stage.Table, error) {
		t, err := prepare(ctx)
		if err == nil {
			var tables []stage.Table
			if tables, err = e.execute(ctx, s, dir, names, want, t); err == nil {
				e.Ran++
				return tables, nil
			}
		}
		if !strings.HasPrefix(err.Error(), "stage ") { // the worker's own words have it
			err = fmt.Errorf("stage %s: %w", s.Name, err)
		}
		return nil, err
	}
	for _, name := range names {
		e.made[name] = func(ctx context.Context) error { _, err := run(ctx); return err }
	}
	if f, ok := e.done[dir]; ok && len(f.Tables) == len(names) {
		e.Found++
		e.know(f) // also those that were dropped while others of the stage stayed
		return f.Tables, nil
	}
	return run(ctx)
}

// execute runs a stage, checks its workers' counts, and marks it as finished.
func (e *Engine) execute(ctx context.Context, s stage.Spec, dir string, names []string, want int64,
	t task) ([]stage.Table, error) {
	sides := sidesOf(s)
	t.job.Sides = map[string]string{}
	var files []File
	for side, file := range sides {
		t.job.Sides[side] = file.Name
		files = append(files, file)
	}
	text, err := json.Marshal(t.job)
	if err != nil {
		return nil, err
	}
	job := newFile("rivulet-job", text)
	if err := e.runner.Send(ctx, append(files, job)...); err != nil {
		return nil, err
	}
	what := label(s)
	e.Progress.Step(what, 0, 1)
	c := &stringRows{tasks: func(done, total int) {
		if done < total {
			e.Progress.Step(what, done, total)
		}
	}}
	rows := e.rows(stageResult{Stage: dir, Rows: e.attempt})
	query := "SELECT decode(o, 'UTF-8') AS s FROM " + parquet(rows) + fmt.Sprintf(" WHERE t = %d", pipe.SummaryOutput)
	statement := overwrite(rows, transform(t.columns, command(e.Workers, job.Name), t.from))
	statements := []string{statement}
	if _, ok := e.done[dir]; ok { // made again: half of it must not look finished
		statements = []string{e.unmarked(dir), statement}
	}
	if err := e.run(ctx, c, query, statements...); err != nil {
		return nil, words(err)
	}
	f, in, err := tablesOf(dir, names, c.values)
	if err != nil {
		return nil, err
	}
	f.Rows = e.attempt
	if want >= 0 && in != want {
		return nil, fmt.Errorf("the workers read %d records of %d: an input was cut; run it again", in, want)
	}
	e.know(f)
	e.finish(what, f)
	return f.Tables, e.marked(ctx, f)
}

// label is a stage's name in progress.
func label(s stage.Spec) string {
	if s.Name == "" {
		return "sending tables"
	}
	return s.Name
}

// finish shows a stage's end.
func (e *Engine) finish(what string, f stageResult) {
	records, bytes := int64(0), int64(0)
	for _, t := range f.Tables {
		records, bytes = records+t.Records, bytes+t.Bytes
	}
	e.Progress.Step(fmt.Sprintf("%s: %d records, %.1f MB", what, records, float64(bytes)/1e6), 1, 1)
}

// marked notes in the stage's directory that it is finished. Where calls are dear, the next one does it: a driver that
// ends before runs this stage again.
func (e *Engine) marked(ctx context.Context, f stageResult) error {
	mark, err := e.marking(f)
	if err != nil {
		return err
	}
	e.pending = append(e.pending, mark)
	if e.runner.Saves() {
		return nil
	}
	return e.flush(ctx)
}

// sidesOf are the files of a stage's sides.
func sidesOf(s stage.Spec) map[string]File {
	files := map[string]File{}
	for name, content := range s.Sides {
		files[name] = newFile("rivulet-side", content)
	}
	return files
}

// tablesOf adds up the workers' counts. in are the records that they read: the stage that reads a table compares them.
func tablesOf(dir string, names, summaries []string) (f stageResult, in int64, err error) {
	f = stageResult{Stage: dir, Tables: make([]stage.Table, len(names))}
	for k, name := range names {
		f.Tables[k].Name = name
	}
	for _, text := range summaries {
		var s pipe.Summary
		if err := json.Unmarshal([]byte(text), &s); err != nil || len(s.Out) != len(names) || len(s.Bytes) != len(names) {
			return f, 0, fmt.Errorf("a worker's summary is %.100q", text)
		}
		in += s.In
		for k := range names {
			f.Tables[k].Records += s.Out[k]
			f.Tables[k].Bytes += s.Bytes[k]
		}
	}
	return f, in, nil
}

// sendBytes is the size of a file of records that is sent, a task's work.
const sendBytes = 16 << 20

// Scan implements [stage.Engine]. Rows of this process are sent as files.
func (e *Engine) Scan(ctx context.Context, s stage.Spec, from stage.Source) ([]stage.Table, error) {
	if from.InPlace != nil {
		return e.scanInPlace(ctx, s, from)
	}
	return e.once(ctx, s, []string{from.Identity}, -1, func(ctx context.Context) (task, error) {
		var names []string
		var b bytes.Buffer
		send := func() error {
			f := newFile("rivulet-rows", bytes.Clone(b.Bytes()))
			b.Reset()
			names = append(names, f.Name)
			return e.runner.Send(ctx, f)
		}
		for row, err := range from.Rows {
			if err != nil {
				return task{}, err
			}
			b.Write(stage.AppendRecord(nil, stage.Record{Payload: row}))
			if b.Len() >= sendBytes {
				if err := send(); err != nil {
					return task{}, err
				}
			}
		}
		if err := send(); err != nil {
			return task{}, err
		}
		return sending(jobOf(s), names), nil
	})
}

// sending is a task on files that were sent.
func sending(j pipe.Job, files []string) task {
	j.Files = files
	return task{columns: "id", from: numbers(len(files)), job: j}
}

// Put implements [stage.Engine].
func (e *Engine) Put(ctx context.Context, name string, records []stage.Record) (stage.Table, error) {
	tables, err := e.named(ctx, stage.Spec{Outputs: 1}, []string{name}, int64(len(records)),
		func(ctx context.Context) (task, error) {
			var all []byte
			for _, r := range records {
				all = stage.AppendRecord(all, r)
			}
			f := newFile("rivulet-rows", all)
			return sending(pipe.Job{Outputs: 1}, []string{f.Name}), e.runner.Send(ctx, f)
		})
	if err != nil {
		return stage.Table{}, err
	}
	return tables[0], nil
}

// tableLoop gives the rows of a table to a loop.
type tableLoop struct {
	yield   func(stage.Record, error) bool
	count   int64
	stopped bool
}

func (r *tableLoop) Tasks(int, int) {}

// errStopped ends a query whose reader wants no more.
var errStopped = errors.New("the reader stopped")

func (r *tableLoop) Strings(values []string) error {
	for _, row := range values {
		record, err := recordOf(row)
		if err != nil {
			return err
		}
		r.count++
		if !r.yield(record, nil) {
			r.stopped = true
			return errStopped
		}
	}
	return nil
}

// recordOf reads key, order and payload, divided by spaces.
func recordOf(row string) (stage.Record, error) {
	fields := strings.Split(row, " ")
	if len(fields) != 3 {
		return stage.Record{}, fmt.Errorf("a row of %d fields, want 3", len(fields))
	}
	key, err1 := strconv.ParseInt(fields[0], 10, 64)
	order, err2 := base64.StdEncoding.DecodeString(fields[1])
	payload, err3 := base64.StdEncoding.DecodeString(fields[2])
	return stage.Record{Key: key, Order: order, Payload: payload}, errors.Join(err1, err2, err3)
}
