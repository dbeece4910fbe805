package pipe

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"rivulet/trainer/stage"
)

// Prefix begins the line of a worker's error.
const Prefix = "rivulet-worker: "

const buffer = 1 << 20

// Main is the program: arguments are the job's file. It returns the exit status.
func Main(arguments []string, in io.Reader, out, errs io.Writer, registry stage.Registry) int {
	err := errors.New("want one argument, the file of a job; trainer train --engine spark runs this program")
	if len(arguments) == 1 {
		err = Run(arguments[0], in, out, registry)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(errs, Prefix+strings.Join(strings.Fields(err.Error()), " "))
	_, _ = io.Copy(io.Discard, in)
	return 1
}

// Run does the job of a file on the lines of in. An error has the stage's name.
func Run(file string, in io.Reader, out io.Writer, registry stage.Registry) (err error) {
	j, err := ReadJob(file)
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if err != nil && j.Stage != "" {
			err = fmt.Errorf("stage %s: %w", j.Stage, err)
		}
	}()
	r := &run{job: j, dir: filepath.Dir(file), in: newReader(in), out: newWriter(out, j.Outputs)}
	if j.Stage == "" {
		err = r.copy()
	} else if r.function, err = j.function(r.dir, registry); err == nil {
		err = r.reduce()
	}
	if err != nil {
		return err
	}
	return r.out.end(r.in.count)
}

// run is a job at work.
type run struct {
	job      Job
	dir      string
	function stage.Function
	in       *reader
	out      *writer
}

func (r *run) reduce() error {
	switch {
	case len(r.job.Files) > 0:
		return r.eachFile(func(records stage.Records) error { return r.function.Reduce(0, records, r.out) })
	case r.job.Map:
		return r.function.Reduce(0, r.in, r.out)
	}
	for {
		first, err := r.in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		g := &group{in: r.in, key: first.Key}
		r.in.unread(first)
		if err := r.function.Reduce(first.Key, g, r.out); err != nil {
			return err
		}
		unread := func(stage.Record) error { return nil } // records that the function left
		if err := stage.Each(g, unread); err != nil {
			return err
		}
	}
}

// group are the records of one key.
type group struct {
	in  *reader
	key int64
}

// Next implements [stage.Records].
func (g *group) Next() (stage.Record, error) {
	r, err := g.in.Next()
	if err != nil {
		return r, err
	}
	if r.Key != g.key {
		g.in.unread(r)
		return stage.Record{}, io.EOF
	}
	return r, nil
}

// copy writes the records of files as they are.
func (r *run) copy() error {
	return r.eachFile(func(records stage.Records) error {
		return stage.Each(records, func(record stage.Record) error { return r.out.Emit(0, record) })
	})
}

// eachFile calls use with the records of each file that a line names.
func (r *run) eachFile(use func(stage.Records) error) error {
	for {
		fields, err := r.in.line(1)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		k, err := strconv.Atoi(string(fields[0]))
		if err != nil || k < 0 || k >= len(r.job.Files) {
			return fmt.Errorf("file %.20q of a job with %d", fields[0], len(r.job.Files))
		}
		if err := r.oneFile(r.job.Files[k], use); err != nil {
			return err
		}
	}
}

func (r *run) oneFile(name string, use func(stage.Records) error) error {
	f, err := os.Open(filepath.Join(r.dir, filepath.Base(name)))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return use(&recordFile{bufio.NewReaderSize(f, buffer), r.in})
}

// recordFile are the records of a file.
type recordFile struct {
	file *bufio.Reader
	of   *reader
}

// Next implements [stage.Records].
func (s *recordFile) Next() (stage.Record, error) {
	record, err := stage.ReadRecord(s.file)
	if err == nil {
		s.of.count++
	}
	return record, err
}

// Job is a worker's task, as the JSON of a file that is sent along with it.
type Job struct {
	Stage   string            `json:"stage,omitempty"` // empty: the records of Files become output 0 as they are
	Options json.RawMessage   `json:"options,omitempty"`
	Sides   map[string]string `json:"sides,omitempty"` // file by side
	Outputs int               `json:"outputs"`
	Map     bool              `json:"map,omitempty"`
	Files   []string          `json:"files,omitempty"` // of records in their wire form
}

// ReadJob reads a job's file. Files that it names are in the same directory.
func ReadJob(file string) (Job, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Job{}, err
	}
	var j Job
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&j); err != nil {
		return Job{}, fmt.Errorf("job %s is not of this worker's build: %w", filepath.Base(file), err)
	}
	return j, nil
}

// function makes the stage's function.
func (j Job) function(dir string, registry stage.Registry) (stage.Function, error) {
	spec := stage.Spec{Name: j.Stage, Options: j.Options, Outputs: j.Outputs, Map: j.Map, Sides: stage.Sides{}}
	for side, name := range j.Sides {
		content, err := os.ReadFile(filepath.Join(dir, filepath.Base(name)))
		if err != nil {
			return nil, fmt.Errorf("side %s: %w", side, err)
		}
		spec.Sides[side] = content
	}
	return registry.New(spec)
}
