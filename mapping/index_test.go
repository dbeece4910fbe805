package mapping

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/mapping/mappingtest"
	"rivulet/test/expect"
)

// rowsByNumber returns rows of M of which row i tells its number and has i%7 entries, without values where ones is set.
func rowsByNumber(n int, ones bool) *graph.CSR {
	rows := &graph.CSR{Rows: n, Cols: math.MaxInt32, RowPtr: []int{0}}
	for i := range n {
		for k := range i % 7 {
			rows.ColIdx = append(rows.ColIdx, int32(8*i+k))
			rows.Val = append(rows.Val, float32(i)/8)
		}
		rows.RowPtr = append(rows.RowPtr, len(rows.ColIdx))
	}
	if ones {
		rows.Val = nil
	}
	return rows
}

// requireRow fails unless a row that was found is row i.
func requireRow(t failer, got attach.Row, rows *graph.CSR, i int) {
	want := attach.Row{Known: i >= 0}
	if i >= 0 && rows.RowLen(i) > 0 {
		want.Cols, want.Vals = rows.Row(i)
		if want.Vals == nil {
			want.Vals = slices.Repeat([]float32{1}, len(want.Cols))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("row %d (-want +got):\n%s", i, diff)
	}
}

// failer is a test, or a check of rapid.
type failer interface {
	Fatalf(format string, args ...any)
}

// An index answers as a map does, for ids that it holds and others, also where it is nearly full.
func TestIndexIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.StringN(0, 9, -1), rapid.ID).Draw(t, "ids")
		others := rapid.SliceOf(rapid.StringN(0, 3, -1)).Draw(t, "others")
		rows := rowsByNumber(len(ids), rapid.Bool().Draw(t, "ones"))
		asked := append(others, ids...)
		got := make([]attach.Row, len(asked))
		for i := range got {
			got[i] = attach.Row{Known: true, Cols: []int32{1}} // of an earlier batch
		}
		unknown := newIndex(ids, rows).find(asked, got)
		for i, id := range asked {
			number := slices.Index(ids, id)
			requireRow(t, got[i], rows, number)
			if number < 0 {
				unknown--
			}
		}
		if unknown != 0 {
			t.Fatalf("%d unknown ids too many", unknown)
		}
	})
}

// Two ids whose hashes begin at the same slot are told apart.
func TestIndexOfManyIDs(t *testing.T) {
	ids := make([]string, 100_000)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	rows, got := rowsByNumber(len(ids), false), make([]attach.Row, len(ids))
	x := newIndex(ids, rows)
	if unknown := x.find(ids, got); unknown != 0 {
		t.Fatalf("%d ids are unknown", unknown)
	}
	for i, row := range got {
		requireRow(t, row, rows, i)
	}
	if unknown := x.find([]string{"100000", "", "-1"}, got); unknown != 3 {
		t.Errorf("%d of 3 ids are unknown", unknown)
	}
}

// Ids that a bucket has no room for are in those behind it, and behind the last in the first.
func TestFullBuckets(t *testing.T) {
	x := &index{buckets: make([]bucket, 3)}
	const ids = 2*bucketSlots + 5
	for number := range uint32(ids) {
		x.insert(math.MaxUint64, number+1)
	}
	var met []uint32
	for at, behind := x.bucket(math.MaxUint64), true; behind; at = x.after(at) {
		b := &x.buckets[at]
		behind = b.tags[1]&idsBehind != 0
		first, second := b.slots(tagOf(math.MaxUint64))
		for slot := range bucketSlots {
			word, bit := first, 8*slot+7
			if slot >= 8 {
				word, bit = second, bit-64
			}
			if word>>bit&1 == 1 {
				met = append(met, b.numbers[slot])
			}
		}
	}
	if len(met) != ids || !slices.IsSorted(met) || met[0] != 1 {
		t.Errorf("of %d numbers %v are met", ids, met)
	}
	if x.buckets[2].tags[1]&idsBehind == 0 || x.buckets[0].tags[1]&idsBehind == 0 || x.buckets[1].tags[1]&idsBehind != 0 {
		t.Error("buckets 2 and 0 have ids behind them, and bucket 1 has none")
	}
}

// BenchmarkMemory looks up the neighbours of a batch in an index, beside a map of strings, and measures their
// memory beyond the ids' bytes.
func BenchmarkMemory(b *testing.B) {
	const n, batch = 153_431, 5_000
	none := &graph.CSR{Rows: n, RowPtr: make([]int, n+1)}
	for _, kind := range mappingtest.IDKinds {
		ids := mappingtest.Drawn(n, kind.Make).IDs
		rng := rand.New(rand.NewPCG(9, 9))
		batches := make([][]string, 20)
		for k := range batches {
			for range batch {
				batches[k] = append(batches[k], fmt.Sprint(ids[rng.IntN(n)])) // as decoded: not the same bytes in memory
			}
		}
		var m map[string]int32
		var x *index
		b.Run(kind.Name+"/map", func(b *testing.B) {
			before := heap()
			m = make(map[string]int32, n)
			for i, id := range ids {
				m[id] = int32(i)
			}
			taken := float64(heap()-before)/n + 16 // and the ids' headers
			numbers := make([]int32, batch)
			for k := 0; b.Loop(); k++ {
				for i, id := range batches[k%len(batches)] {
					numbers[i] = m[id]
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/id")
			b.ReportMetric(taken, "B/row")
		})
		b.Run(kind.Name+"/index", func(b *testing.B) {
			before := heap()
			x = newIndex(ids, none)
			size := 0
			for _, id := range ids {
				size += len(id)
			}
			taken := float64(int(heap()-before)-size) / n
			found := make([]attach.Row, batch)
			for k := 0; b.Loop(); k++ {
				x.find(batches[k%len(batches)], found)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/id")
			b.ReportMetric(taken, "B/row")
		})
		runtime.KeepAlive(m)
		runtime.KeepAlive(x)
	}
	memory := FromArtifact(mappingtest.Drawn(n, mappingtest.IDKinds[0].Make))
	rows := make([]attach.Row, batch)
	ids := make([]string, batch)
	for i := range ids {
		ids[i] = fmt.Sprint(i * 30)
	}
	b.Run("rows", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			expect.OK(b, memory.Rows(b.Context(), ids, rows))
		}
	})
}
