package mapping

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/internal/quantile"
	"rivulet/mapping/mappingtest"
	"rivulet/test/expect"
)

// mappedFrom returns M as a file in a directory, and how often its artifact was read.
func mappedFrom(t testing.TB, dir string, b *artifact.Bundle) (m *Memory, reads int, log string) {
	t.Helper()
	var lines bytes.Buffer
	m, err := FromFile(t.Context(), dir, "M of "+t.Name(), func() (*artifact.Bundle, error) {
		reads++
		return b, nil
	}, slog.New(slog.NewTextHandler(&lines, nil)))
	expect.OK(t, err)
	return m, reads, lines.String()
}

// piecesOf divides the rows of M into pieces.
func piecesOf(m *artifact.Mapping, each int) iter.Seq2[*artifact.Mapping, error] {
	return func(yield func(*artifact.Mapping, error) bool) {
		for from := 0; from < len(m.IDs); from += each {
			to := min(from+each, len(m.IDs))
			rows := &graph.CSR{Rows: to - from, Cols: m.Rows.Cols, RowPtr: []int{0}}
			for i := from; i < to; i++ {
				cols, vals := m.Rows.Row(i)
				rows.ColIdx, rows.Val = append(rows.ColIdx, cols...), append(rows.Val, vals...)
				rows.RowPtr = append(rows.RowPtr, len(rows.ColIdx))
			}
			if !yield(&artifact.Mapping{IDs: slices.Clone(m.IDs[from:to]), Rows: rows}, nil) {
				return
			}
		}
	}
}

// Rows in a file have the bits of rows in memory and in Redis, with M in one piece or several, with values or without.
// The artifact is read when the file is written, and not again.
func TestMappedEqualsMemoryAndRedis(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		m := numbered(9000, 4)
		ids := append(slices.Clone(m.IDs), "nobody", "", m.IDs[0])
		memory := FromArtifact(m)
		want := mustRows(t, memory, ids...)
		expect.Same(t, want, mustRows(t, NewRedis(client, stored(t, client, prefix, m)), ids...),
			"rows in memory and in Redis")
		ones := &artifact.Mapping{IDs: m.IDs, Rows: &graph.CSR{Rows: m.Rows.Rows, Cols: m.Rows.Cols, RowPtr: m.Rows.RowPtr,
			ColIdx: m.Rows.ColIdx}}
		for name, c := range map[string]struct {
			bundle *artifact.Bundle
			want   []attach.Row
		}{
			"one piece":          {&artifact.Bundle{Mapping: m}, want},
			"several pieces":     {&artifact.Bundle{Parts: piecesOf(m, 4000)}, want},
			"without values":     {&artifact.Bundle{Mapping: ones}, mustRows(t, FromArtifact(ones), ids...)},
			"no values, several": {&artifact.Bundle{Parts: piecesOf(ones, 4000)}, mustRows(t, FromArtifact(ones), ids...)},
		} {
			dir := filepath.Join(t.TempDir(), "deep", "er")
			for k, wantReads := range []int{1, 0} {
				got, reads, _ := mappedFrom(t, dir, c.bundle)
				expect.Same(t, c.want, mustRows(t, got, ids...), "%s: rows of the file", name)
				if reads != wantReads || got.Stats().Bytes != memory.Stats().Bytes || got.Len() != len(m.IDs) {
					t.Errorf("%s, start %d: read %d times, want %d: %d rows, %+v", name, k, reads, wantReads, got.Len(), got.Stats())
				}
				numbers := make([]uint32, len(ids))
				packed := got.Numbers(ids, numbers)
				for i, number := range numbers {
					if cols, vals := packed.Row(number); (number != 0) != c.want[i].Known ||
						number != 0 && (!slices.Equal(cols, c.want[i].Cols) || !slices.Equal(vals, c.want[i].Vals)) {
						t.Fatalf("%s: row %q by its number is %v %v, want %v", name, ids[i], cols, vals, c.want[i])
					}
				}
			}
		}
	})
}

// A file that was cut off, grew, changed in any part, or is of another M is an error with its reason: it is written
// again, and the artifact is read for that. Where the artifact cannot be read either, nothing is served.
func TestADamagedFileOfMIsWrittenAgain(t *testing.T) {
	m := numbered(3000, 4)
	b := &artifact.Bundle{Mapping: m}
	dir := t.TempDir()
	first, _, log := mappedFrom(t, dir, b)
	want := mustRows(t, first, m.IDs...)
	path := filepath.Join(dir, fileOf("M of "+t.Name()))
	if !strings.Contains(log, "M was written to a file") || strings.Contains(log, "WARN") {
		t.Errorf("the log of the first start is %s", log)
	}
	good, err := os.ReadFile(path)
	expect.OK(t, err)
	other := new(bytes.Buffer)
	expect.OK(t, newIndex(m.IDs, m.Rows).write(other, "another M"))
	changed := func(at int) []byte {
		text := slices.Clone(good)
		text[at] ^= 1
		return text
	}
	for name, text := range map[string][]byte{
		"cut off": good[:len(good)-1], "cut to its head": good[:64], "cut in its head": good[:10], "empty": {},
		"longer": append(slices.Clone(good), 0), "another form": changed(0), "another checksum": changed(8),
		"another number of rows": changed(24), "another number of buckets": changed(32), "a bucket changed": changed(64 + 5),
		"a row changed": changed(len(good) - 100), "another M": other.Bytes(),
	} {
		expect.OK(t, os.Remove(path))
		expect.OK(t, os.WriteFile(path, text, 0o600))
		_, err := openIndex(path, "M of "+t.Name())
		if !errors.Is(err, errOtherFile) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		broken := errors.New("the artifact is damaged")
		_, err = FromFile(t.Context(), dir, "M of "+t.Name(), func() (*artifact.Bundle, error) { return nil, broken },
			slog.New(slog.DiscardHandler))
		if !errors.Is(err, broken) {
			t.Errorf("%s, and the artifact cannot be read: %v", name, err)
		}
		got, reads, log := mappedFrom(t, dir, b)
		again := strings.Contains(log, "written again")
		if diff := cmp.Diff(want, mustRows(t, got, m.IDs...)); diff != "" || reads != 1 || !again {
			t.Errorf("%s: read %d times, log %s, rows differ (-want +got):\n%s", name, reads, log, diff)
		}
	}
	expect.Same(t, want, mustRows(t, first, m.IDs...), "the rows of a file that was removed meanwhile differ")
	twice := &artifact.Bundle{Parts: func(yield func(*artifact.Mapping, error) bool) {
		for range 2 {
			if !yield(m, nil) {
				return
			}
		}
	}}
	_, err = FromFile(t.Context(), dir, "M with an id twice", func() (*artifact.Bundle, error) { return twice, nil },
		slog.New(slog.DiscardHandler))
	if !errors.Is(err, errTwice) {
		t.Errorf("an M with an id twice: %v", err)
	}
}

// Of processes that start at once, one writes the file; one that is stopped while it waits for another ends.
func TestOneProcessWritesTheFileOfM(t *testing.T) {
	m := numbered(2000, 4)
	dir, content := t.TempDir(), "M of "+t.Name()
	reading, goOn := make(chan struct{}), make(chan struct{})
	var wait sync.WaitGroup
	counted := 0
	start := func(ctx context.Context) error {
		got, err := FromFile(ctx, dir, content, func() (*artifact.Bundle, error) {
			counted++ // under the lock
			close(reading)
			<-goOn
			return &artifact.Bundle{Mapping: m}, nil
		}, slog.New(slog.DiscardHandler))
		row := make([]attach.Row, 1)
		if err == nil {
			err = got.Rows(ctx, m.IDs[:1], row)
		}
		if err == nil && !row[0].Known {
			err = errors.New("a row is missing")
		}
		return err
	}
	for range 4 {
		wait.Go(func() {
			if err := start(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	<-reading
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := start(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a process that is stopped: %v", err)
	}
	close(goOn)
	wait.Wait()
	if counted != 1 {
		t.Errorf("the artifact was read %d times", counted)
	}
}

// BenchmarkStores looks up the neighbours of batches, 256 arrivals with 10 each, in an M of so many rows: in the heap,
// in a file, and in Redis, in turn.
func BenchmarkStores(b *testing.B) {
	const batch = 256 * 10
	for _, n := range []int{100_000, 1_000_000, 4_000_000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			client, prefix := realRedis(b)
			m := mappingtest.Drawn(n, mappingtest.IDKinds[0].Make)
			begun := time.Now()
			heap := FromArtifact(m)
			b.Logf("into the heap: %s", time.Since(begun))
			dir := b.TempDir()
			for _, start := range []string{"first", "second"} {
				begun = time.Now()
				mappedFrom(b, dir, &artifact.Bundle{Mapping: m})
				b.Logf("file, %s start: %s", start, time.Since(begun))
			}
			file, _, _ := mappedFrom(b, dir, nil)
			names := []string{"heap", "file", "redis"}
			stores := []Lookup{heap, file, NewRedis(client, stored(b, client, prefix, m))}
			times := make([][]time.Duration, len(stores))
			rng := rand.New(rand.NewPCG(11, 0))
			ids, rows := make([]string, batch), make([]attach.Row, batch)
			for k := 0; b.Loop(); k++ {
				for i := range ids {
					ids[i] = m.IDs[rng.IntN(n)]
				}
				for s := range stores {
					s = (s + k) % len(stores)
					begun := time.Now()
					if err := stores[s].Rows(b.Context(), ids, rows); err != nil {
						b.Fatal(err)
					}
					for i := range rows { // as the sum of rows reads them
						if rows[i].Cols[0] < 0 {
							b.Fatal("no column")
						}
					}
					times[s] = append(times[s], time.Since(begun))
				}
			}
			for s, name := range names {
				slices.Sort(times[s])
				b.ReportMetric(batch/times[s][len(times[s])/2].Seconds(), name+"-rows/s")
				b.ReportMetric(1e3*quantile.Of(times[s], 0.99), name+"-p99-µs")
			}
		})
	}
}
