package spill

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/test/expect"
)

// row is the content of a record in these tests.
type row struct {
	N int64
	T string
	X []float32
	B string
}

func read(t *testing.T, b *Buckets) [][]row {
	t.Helper()
	all := make([][]row, b.Len())
	for k := range all {
		err := b.Each(k, func(r *Record) error {
			all[k] = append(all[k], row{r.NextNumber(), r.NextText(), r.NextFloats(), string(r.NextBytes())})
			return nil
		})
		expect.OK(t, err)
	}
	return all
}

// Files and memory give the records of each bucket in their order, also when more are put after a reading.
func TestFilesAndMemoryAgree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "records")
	files, memory := New(dir, 3, nil), InMemory(3)
	var want [3][]row
	var r Record
	for n := range int64(3000) {
		one := row{n - 1500, string(make([]byte, n%300)), []float32{float32(n), -0.5}, "b"}
		k := files.Of(one.T)
		if k != memory.Of(one.T) {
			t.Fatal("files and memory have other buckets")
		}
		want[k] = append(want[k], one)
		for _, b := range []*Buckets{files, memory} {
			expect.OK(t, b.Put(k, r.Reset().Number(one.N).Text(one.T).Floats(one.X).Bytes([]byte(one.B))))
		}
		if n%1000 == 999 {
			if diff := cmp.Diff(want[:], read(t, files)); diff != "" || files.Records() != n+1 {
				t.Fatalf("files (-want +got):\n%s", diff)
			}
			expect.Same(t, want[:], read(t, memory), "memory")
		}
	}
	expect.OK(t, errors.Join(files.Close(), memory.Close()))
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
}

// The disk's errors are returned, and so is a record that is shorter than its reader thinks.
func TestErrors(t *testing.T) {
	full := errors.New("no space")
	var r Record
	for _, at := range []string{"create", "write"} {
		b := New(filepath.Join(t.TempDir(), "records"), 1, func(operation, _ string) error {
			if operation == at {
				return full
			}
			return nil
		})
		err := b.Put(0, r.Reset().Number(1))
		if err == nil {
			err = b.Each(0, func(*Record) error { return nil })
		}
		if !errors.Is(err, full) {
			t.Errorf("%s: error %v", at, err)
		}
	}
	b := InMemory(1)
	expect.OK(t, b.Put(0, r.Reset().Number(1)))
	err := b.Each(0, func(r *Record) error { _, _ = r.NextNumber(), r.NextText(); return nil })
	if !errors.Is(err, errChanged) {
		t.Errorf("error %v", err)
	}
}
