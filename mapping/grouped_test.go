package mapping

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/test/expect"
)

// inParts is a bundle of m in pieces of n rows.
func inParts(m *artifact.Mapping, n int) *artifact.Bundle {
	b := &artifact.Bundle{Parts: pieces(m, n)}
	b.Manifest.Mapping.Rows, b.Manifest.SyntheticNodes = len(m.IDs), m.Rows.Cols
	return b
}

func pieces(m *artifact.Mapping, n int) iter.Seq2[*artifact.Mapping, error] {
	return func(yield func(*artifact.Mapping, error) bool) {
		for lo := 0; lo < len(m.IDs); lo += n {
			hi := min(lo+n, len(m.IDs))
			p := &artifact.Mapping{IDs: m.IDs[lo:hi],
				Rows: &graph.CSR{Rows: hi - lo, Cols: m.Rows.Cols, RowPtr: []int{0}, Val: []float32{}}}
			for i := lo; i < hi; i++ {
				cols, vals := m.Rows.Row(i)
				p.Rows.ColIdx, p.Rows.Val = append(p.Rows.ColIdx, cols...), append(p.Rows.Val, vals...)
				p.Rows.RowPtr = append(p.Rows.RowPtr, len(p.Rows.ColIdx))
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// grouped groups rows by way of files, and checks that these are gone afterwards.
func grouped(t *testing.T, b *artifact.Bundle) *GroupedRows {
	t.Helper()
	dir := t.TempDir()
	g, err := GroupOf(t.Context(), b, dir)
	expect.OK(t, err)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s is left", left[0].Name())
		}
	})
	return g
}

// Rows in parts are grouped into the same buckets as rows in memory, in the same order and to the byte, also
// if ids fall into few buckets, rows are empty, and files have several buckets or one.
func TestGroupOfPartsIsGroup(t *testing.T) {
	few := &artifact.Mapping{Rows: &graph.CSR{Cols: 1, RowPtr: []int{0}}}
	for i := 0; len(few.IDs) < 480; i++ { // all in the first half of the buckets
		if id := fmt.Sprint(i); (Layout{Buckets: 2, Pages: 1}).bucket(id) == 0 {
			few.IDs = append(few.IDs, id)
			few.Rows.RowPtr = append(few.Rows.RowPtr, 0)
		}
	}
	few.Rows.Rows = len(few.IDs)
	long := numbered(600, 2)
	for i := range long.IDs {
		long.IDs[i] = strings.Repeat("x", 200_000) + long.IDs[i] // 120 MB: several files
	}
	for name, m := range map[string]*artifact.Mapping{
		"one": numbered(1, 1), "many": numbered(9000, 4), "few buckets": few, "long": long,
	} {
		t.Run(name, func(t *testing.T) {
			want := Group(m)
			got := grouped(t, inParts(m, 1000))
			if got.Layout() != want.Layout() || got.Layout() != LayoutOf(m) {
				t.Fatalf("layouts %+v and %+v, want %+v", got.Layout(), want.Layout(), LayoutOf(m))
			}
			if s := got.rows.(*bucketFiles); name == "long" && len(s.files.files) < 3 {
				t.Errorf("%d files, want several", len(s.files.files))
			}
			for b := range want.Layout().Buckets {
				_, wanted, err := want.bucket(nil, &Table{Layout: want.Layout()}, b)
				expect.OK(t, err)
				_, text, err := got.bucket(nil, &Table{Layout: want.Layout()}, b)
				if err != nil || !bytes.Equal(wanted, text) {
					t.Fatalf("bucket %d has %d bytes, want %d (%v)", b, len(text), len(wanted), err)
				}
				if got.rows.before(b) != want.rows.before(b) {
					t.Fatalf("%d rows before bucket %d, want %d", got.rows.before(b), b, want.rows.before(b))
				}
			}
		})
	}
}

// Rows in parts are written as those in memory, from any bucket on.
func TestWritePartsGoesOn(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		const n = 100_000
		m := numbered(n, 4)
		table := Table{Keys: prefix + "rows:", Layout: LayoutOf(m), Synthetic: m.Rows.Cols}
		stop := errors.New("stop")
		var reached []int
		err := grouped(t, inParts(m, 4096)).Write(t.Context(), client, table, 0, func(buckets, _ int) error {
			reached = append(reached, buckets)
			return stop
		})
		if want := pipelines(t, m); !errors.Is(err, stop) || len(want) < 3 || !slices.Equal(reached, want[:1]) {
			t.Fatalf("error = %v after buckets %v, want %v", err, reached, want)
		}
		rows := 0
		count := func(_, r int) error { rows = r; return nil }
		err = grouped(t, inParts(m, 999)).Write(t.Context(), client, table, reached[0], count)
		if err != nil || rows != n {
			t.Fatalf("error = %v after %d rows", err, rows)
		}
		mustHold(t, client, table, m)
	})
}

// mustHold compares the table in Redis with rows, bucket by bucket.
func mustHold(t *testing.T, client Client, table Table, m *artifact.Mapping) {
	t.Helper()
	rows := group(m, table.Layout)
	for b := range table.Buckets {
		_, want, err := rows.bucket(nil, &table, b)
		expect.OK(t, err)
		if got := client.Get(t.Context(), table.Key(b)).Val(); got != string(want) {
			t.Fatalf("bucket %d of %d has %d bytes, or others than the %d of M in memory", b, table.Buckets, len(got), len(want))
		}
	}
}

// An id in two parts, an error of a part and a directory that is not there are errors, and leave no files.
func TestGroupOfRefuses(t *testing.T) {
	m := numbered(300, 2)
	m.IDs[250] = m.IDs[3]
	g := grouped(t, inParts(m, 100))
	var err error
	for b := 0; b < g.Layout().Buckets && err == nil; b++ {
		_, _, err = g.rows.bucket(nil, b)
	}
	if !errors.Is(err, errTwice) || !strings.Contains(err.Error(), m.IDs[3]) {
		t.Errorf("error = %v", err)
	}
	damaged, calls, dir := errors.New("mapping/00001.safetensors: SHA-256"), 0, t.TempDir()
	b := inParts(numbered(300, 2), 100)
	good := b.Parts
	b.Parts = func(yield func(*artifact.Mapping, error) bool) {
		if calls++; calls == 1 {
			good(yield)
			return
		}
		yield(nil, damaged)
	}
	if _, err := GroupOf(t.Context(), b, dir); !errors.Is(err, damaged) {
		t.Errorf("error = %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%s is left", left[0].Name())
	}
	_, err = GroupOf(t.Context(), inParts(numbered(300, 2), 100), dir+"/nowhere")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error = %v", err)
	}
}
