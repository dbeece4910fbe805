package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/local"
)

type silent struct{}

func (silent) Step(string, int, int) {}

// double writes every payload twice, to two outputs; "bad" is an error, "panic" a panic.
type double struct{}

func (double) Reduce(key int64, in stage.Records, out stage.Output) error {
	for {
		r, err := in.Next()
		if err != nil {
			return nil //nolint:nilerr // the end
		}
		switch string(r.Payload) {
		case "bad":
			return errors.New("row 7: a bad payload")
		case "panic":
			panic("broken")
		}
		twice := append(append([]byte{}, r.Payload...), r.Payload...)
		if err := errors.Join(out.Emit(0, stage.Record{Key: key, Payload: twice}),
			out.Emit(1, stage.Record{Key: -key, Payload: r.Payload})); err != nil {
			return err
		}
	}
}

var registry = stage.Registry{
	"double": func(json.RawMessage, stage.Sides) (stage.Function, error) { return double{}, nil },
}

func open(t *testing.T, dir string) *local.Engine {
	t.Helper()
	e, err := local.Open(registry, dir, 1<<10, silent{})
	expect.OK(t, err)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func payloads(t *testing.T, e stage.Engine, table stage.Table) string {
	t.Helper()
	var out []string
	for r, err := range e.Read(context.Background(), table) {
		expect.OK(t, err)
		out = append(out, string(r.Payload))
	}
	return strings.Join(out, " ")
}

var records = []stage.Record{{Key: 2, Payload: []byte("b")}, {Key: 1, Order: []byte("z"), Payload: []byte("z")},
	{Key: 1, Order: []byte("a"), Payload: []byte("a")}}

func TestTablesAreFoundAgain(t *testing.T) {
	dir, ctx, s := t.TempDir(), context.Background(), stage.NewSpec("double", 1, nil, 2)
	for round, want := range []int{2, 0} {
		e := open(t, dir)
		in, err := e.Put(ctx, "in", records)
		expect.OK(t, err)
		out, err := e.Run(ctx, s, in)
		expect.OK(t, err)
		got := payloads(t, e, in) + "; " + payloads(t, e, out[0]) + "; " + payloads(t, e, out[1])
		if got != "a z b; aa zz bb; b a z" &&
			got != "a z b; aa zz bb; b z a" { // records of one order come in any
			t.Errorf("tables hold %s", got)
		}
		if e.Ran != want {
			t.Errorf("round %d ran %d stages, want %d", round, e.Ran, want)
		}
		expect.OK(t, e.Close())
	}
}

// A process may end between two outputs of a stage: the stage is run again, and what is there stays.
func TestAStageWithSomeOfItsOutputs(t *testing.T) {
	dir, ctx, s := t.TempDir(), context.Background(), stage.NewSpec("double", 1, nil, 2)
	for round := range 2 {
		e := open(t, dir)
		in, err := e.Put(ctx, "in", records)
		expect.OK(t, err)
		out, err := e.Run(ctx, s, in)
		expect.OK(t, err)
		if got := payloads(t, e, out[0]); got != "aa zz bb" {
			t.Errorf("round %d: %s", round, got)
		}
		expect.OK(t, errors.Join(e.Close(), os.RemoveAll(filepath.Join(dir, out[1].Name))))
	}
}

// A table that was dropped is made again where it is read.
func TestDroppedTablesAreMadeAgain(t *testing.T) {
	ctx := context.Background()
	for name, e := range map[string]*local.Engine{"memory": local.NewMemory(registry, silent{}),
		"disk": open(t, t.TempDir())} {
		in, err := e.Put(ctx, "in", records)
		expect.OK(t, err)
		out, err := e.Run(ctx, stage.NewSpec("double", 1, nil, 2), in)
		expect.OK(t, errors.Join(err, e.Drop(ctx, in), e.Drop(ctx, out[0])))
		if got := payloads(t, e, out[0]); got != "aa zz bb" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestErrorsOfStages(t *testing.T) {
	ctx := context.Background()
	for payload, want := range map[string]string{"bad": "stage double: row 7: a bad payload",
		"panic": "stage double: panic: broken"} {
		e := open(t, t.TempDir())
		in, err := e.Put(ctx, "in", []stage.Record{{Payload: []byte(payload)}})
		expect.OK(t, err)
		expect.Error(t, expect.ErrorOf(e.Run(ctx, stage.NewSpec("double", 1, nil, 2), in)), want)
	}
	e := open(t, t.TempDir())
	expect.Error(t, expect.ErrorOf(e.Run(ctx, stage.NewSpec("triple", 1, nil, 1))),
		`stage "triple" is not known`, "an unknown stage")
}

func TestADirectoryIsForOneProcess(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir)
	expect.Error(t, expect.ErrorOf(local.Open(registry, dir, 1, silent{})), "used by another process", "opened twice")
	expect.Error(t, local.Clean(dir), "used by another process", "cleaned while it is used")
	expect.OK(t, e.Close())
}

// What is half written is removed, what is damaged is an error, and only tables are cleaned away.
func TestDirectory(t *testing.T) {
	dir, ctx := filepath.Join(t.TempDir(), "work"), context.Background()
	e := open(t, dir)
	if _, err := e.Put(ctx, "in", records); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Close(), os.Mkdir(filepath.Join(dir, "x.partial"), 0o755),
		os.Truncate(filepath.Join(dir, "in", "1"), 3)); err != nil {
		t.Fatal(err)
	}
	e = open(t, dir)
	if _, err := os.Stat(filepath.Join(dir, "x.partial")); err == nil {
		t.Error("a half-written table was kept")
	}
	expect.Error(t, expect.ErrorOf(e.Put(ctx, "in", records)), "key 1 has 3 bytes, want", "a damaged table")
	mine := filepath.Join(dir, "mine.txt")
	expect.OK(t, errors.Join(e.Close(), os.WriteFile(mine, nil, 0o600), local.Clean(dir)))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "mine.txt" {
		t.Errorf("left are %v: %v", entries, err)
	}
	expect.Error(t, local.Clean(dir), "no working directory", "cleaned another directory")
}
