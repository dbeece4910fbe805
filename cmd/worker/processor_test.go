package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/test/datatest"
	"rivulet/test/expect"
	"rivulet/trainer"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/pipe"
	"rivulet/trainer/stage/solved"
)

// other is the processor of the second worker.
var other = map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]

// otherWorker builds the worker for the other processor and returns the command that runs it. RIVULET_TEST_QEMU names
// the emulator, as in make processors; without it the test is skipped, as an emulated processor takes minutes.
func otherWorker(t *testing.T) []string {
	t.Helper()
	qemu := os.Getenv("RIVULET_TEST_QEMU")
	if qemu == "" {
		t.Skip("RIVULET_TEST_QEMU, the program that runs those of another processor, is not set")
	}
	return []string{qemu, buildWorker(t, other)}
}

// buildWorker builds the worker for a processor, as make workers does, but with its symbols.
func buildWorker(t *testing.T, arch string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "worker-linux-"+arch)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// fused are instructions that multiply and add without rounding the product, on arm64 and amd64.
var fused = regexp.MustCompile(`\bV?FN?M(ADD|SUB|LA|LS)[0-9A-Z]*\b`)

// No product is added to something before it is rounded, in any function of ours that a worker has: the compiler may
// join the two on arm64, and would change a bit. Kernels in assembler (graph/*.s) fuse on every processor, and plain Go
// does so by tile.FMA.
func TestProductsAreRounded(t *testing.T) {
	for _, arch := range []string{"arm64", "amd64"} {
		out, err := exec.CommandContext(t.Context(), "go", "tool", "objdump", "-s", "^rivulet/",
			buildWorker(t, arch)).Output()
		expect.OK(t, err)
		if !bytes.Contains(out, []byte("TEXT rivulet/trainer/stage/solved.")) {
			t.Fatalf("%s: the program has no stages", arch)
		}
		for line := range strings.Lines(string(out)) {
			if f := strings.Fields(line); len(f) > 3 && !strings.Contains(f[0], ".s:") && fused.MatchString(line) {
				t.Errorf("%s: %s multiplies and adds in one instruction: %s: round the product, as in float64(a*b) + c", arch, f[0],
					f[3])
			}
		}
	}
}

// piped is an engine that gives each stage to two workers, one of this processor and one of the other, as lines. It
// fails the test if they do not write the same bytes, and goes on with what the other wrote.
type piped struct {
	t      *testing.T
	worker []string // the command of the other
	tables map[string][]stage.Record
	ran    map[string]int // times that a stage ran
}

func (p *piped) Scan(ctx context.Context, s stage.Spec, from stage.Source) ([]stage.Table, error) {
	var rows []stage.Record
	for row, err := range from.Rows {
		if err != nil {
			return nil, err
		}
		rows = append(rows, stage.Record{Payload: slices.Clone(row)})
	}
	return p.run(ctx, s, []string{from.Identity}, rows)
}

func (p *piped) Run(ctx context.Context, s stage.Spec, inputs ...stage.Table) ([]stage.Table, error) {
	var names []string
	var all []stage.Record
	for tag, table := range inputs {
		names = append(names, table.Name)
		for _, r := range p.tables[table.Name] {
			r.Tag = int32(tag)
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, stage.Compare)
	return p.run(ctx, s, names, all)
}

func (p *piped) Put(_ context.Context, name string, records []stage.Record) (stage.Table, error) {
	return p.put("put-"+name, records), nil
}

func (p *piped) put(name string, records []stage.Record) stage.Table {
	p.tables[name] = slices.SortedStableFunc(slices.Values(records), stage.Compare)
	table := stage.Table{Name: name, Records: int64(len(records))}
	for _, r := range records {
		table.Bytes += int64(len(r.Order) + len(r.Payload))
	}
	return table
}

func (p *piped) Read(_ context.Context, table stage.Table) iter.Seq2[stage.Record, error] {
	return func(yield func(stage.Record, error) bool) {
		for _, r := range p.tables[table.Name] {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (p *piped) Drop(context.Context, stage.Table) error { return nil }

// run gives a stage's records to both workers.
func (p *piped) run(ctx context.Context, s stage.Spec, inputs []string, records []stage.Record) ([]stage.Table, error) {
	job, err := written(p.t.TempDir(), s)
	if err != nil {
		return nil, err
	}
	lines := linesOf(records)
	var here, there, errs bytes.Buffer
	if status := pipe.Main([]string{job}, bytes.NewReader(lines), &here, &errs, solved.Functions); status != 0 {
		return nil, errors.New(errs.String())
	}
	cmd := exec.CommandContext(ctx, p.worker[0], append(p.worker[1:], job)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(lines), &there, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%v: %w: %s", cmd, err, &errs)
	}
	p.ran[s.Name]++
	// A stage of a map writes its keys in any order.
	mine, its := slices.Sorted(strings.Lines(here.String())), slices.Sorted(strings.Lines(there.String()))
	if !slices.Equal(mine, its) {
		p.t.Errorf("stage %s, run %d: on %s and %s it writes different records: %s", s.Name, p.ran[s.Name], runtime.GOARCH,
			other,
			difference(mine, its))
	}
	outputs, err := recordsOf(there.String(), s.Outputs)
	if err != nil {
		return nil, err
	}
	tables := make([]stage.Table, s.Outputs)
	for k := range tables {
		tables[k] = p.put(s.Table(k, inputs...), outputs[k])
	}
	return tables, nil
}

// written writes the files of a stage's job to a directory, and returns the job's.
func written(dir string, s stage.Spec) (string, error) {
	job := pipe.Job{Stage: s.Name, Options: s.Options, Outputs: s.Outputs, Map: s.Map, Sides: map[string]string{}}
	for k, side := range s.Sides.Names() {
		job.Sides[side] = fmt.Sprint("side-", k)
		if err := os.WriteFile(filepath.Join(dir, job.Sides[side]), s.Sides[side], 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(job)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "job")
	return file, os.WriteFile(file, text, 0o600)
}

// linesOf are records as a worker reads them.
func linesOf(records []stage.Record) []byte {
	var b []byte
	for _, r := range records {
		b = fmt.Appendf(b, "%d\t%d\t", r.Key, r.Tag)
		b = append(base64.StdEncoding.AppendEncode(b, r.Order), '\t')
		b = append(base64.StdEncoding.AppendEncode(b, r.Payload), '\n')
	}
	return b
}

// recordsOf are the records that a worker wrote, by output.
func recordsOf(text string, outputs int) ([][]stage.Record, error) {
	all := make([][]stage.Record, outputs)
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("a line of %d fields", len(f))
		}
		output, err1 := strconv.Atoi(f[0])
		key, err2 := strconv.ParseInt(f[1], 10, 64)
		order, err3 := base64.StdEncoding.DecodeString(f[2])
		payload, err4 := base64.StdEncoding.DecodeString(f[3])
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return nil, err
		}
		if output != pipe.SummaryOutput {
			all[output] = append(all[output], stage.Record{Key: key, Order: order, Payload: payload})
		}
	}
	return all, nil
}

// difference says how many of two workers' lines differ, and names the first.
func difference(mine, its []string) string {
	if len(mine) != len(its) {
		return fmt.Sprintf("%d and %d lines", len(mine), len(its))
	}
	n, first := 0, ""
	for k := range mine {
		if mine[k] == its[k] {
			continue
		}
		if n++; first == "" {
			f := strings.Split(mine[k], "\t")
			first = fmt.Sprintf("%d bytes of output %s, key %s", len(mine[k]), f[0], f[1])
		}
	}
	return fmt.Sprintf("%d of %d lines, first %s", n, len(mine), first)
}

// Workers of amd64 and arm64 write the same bytes in every stage of a training run and of an evaluation, and the
// artifact is that of a run in this process.
func TestStagesOnAnotherProcessor(t *testing.T) {
	worker, ran := otherWorker(t), map[string]int{}
	// sparse features are projected before their hops, dense ones are not
	for _, preset := range []string{"small", "reddit"} {
		g, err := generate.Scaled(preset, 900)
		expect.OK(t, err)
		if g.Kind == generate.Dense {
			g.Edges, g.Classes, g.Communities, g.Features = 5000, 6, 30, 100
		}
		d, err := generate.Graph(g, 3)
		expect.OK(t, err)
		for name, n := range testProcessors(t, worker, d) {
			ran[name] += n
		}
	}
	if left := slices.DeleteFunc(slices.Sorted(maps.Keys(solved.Functions)), func(name string) bool {
		return ran[name] > 0
	}); len(left) > 0 {
		t.Errorf("stages %v have not run", left)
	}
}

// The same on a real graph, with bags of words, where RIVULET_DATA is given.
func TestStagesOnAnotherProcessorOnCora(t *testing.T) {
	worker := otherWorker(t)
	d, err := dataset.Open(datatest.Dir(t, "cora"), dataset.OpenOptions{})
	expect.OK(t, err)
	testProcessors(t, worker, d)
}

// testProcessors compares a run, and returns how often each stage ran.
func testProcessors(t *testing.T, worker []string, d *dataset.Dataset) map[string]int {
	t.Helper()
	o := trainer.Defaults()
	o.Costs = false
	o.Models, o.Hidden, o.WeightDecays, o.Subgraph = []string{"gcn", "sgc", "appnp"}, 8, []float64{1e-3}, 64<<10
	train := func(e stage.Engine) string {
		s, err := trainer.StagedOf(d, o)
		expect.OK(t, err)
		out, err := trainer.TrainStaged(t.Context(), e, s, o, time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC), trainer.Silent{})
		expect.OK(t, err)
		dir := filepath.Join(t.TempDir(), "artifact")
		expect.OK(t, artifact.Write(dir, out.Bundle))
		return dir
	}
	p := &piped{t: t, worker: worker, tables: map[string][]stage.Record{}, ran: map[string]int{}}
	made := train(p)
	sameFiles(t, train(local.NewMemory(solved.Functions, trainer.Silent{})), made)
	b, err := artifact.Read(made)
	expect.OK(t, err)
	s, err := trainer.StagedOf(d, o)
	expect.OK(t, err)
	if _, err := trainer.EvaluateStaged(t.Context(), p, s, b, o.Batch, trainer.Silent{}); err != nil {
		t.Fatal(err)
	}
	return p.ran
}

// sameFiles fails unless two directories hold the same files with the same bytes.
func sameFiles(t *testing.T, want, got string) {
	t.Helper()
	all := func(dir string) map[string]string {
		files := map[string]string{}
		err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(path) //nolint:gosec // of the test
			files[strings.TrimPrefix(path, dir)] = string(content)
			return err
		})
		expect.OK(t, err)
		return files
	}
	a, b := all(want), all(got)
	if !slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))) || len(a) == 0 {
		t.Errorf("files %v, want %v", slices.Sorted(maps.Keys(b)), slices.Sorted(maps.Keys(a)))
	}
	for name, content := range a {
		if b[name] != content {
			t.Errorf("%s differs from the artifact of a run in this process", name)
		}
	}
}
