package mapping

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"rivulet/infer"
)

// An index answers as a map does, for ids that it holds and others, also where it is nearly full.
func TestIndexIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.StringN(0, 3, -1), rapid.ID).Draw(t, "ids")
		others := rapid.SliceOf(rapid.StringN(0, 3, -1)).Draw(t, "others")
		want := map[string]int32{}
		for i, id := range ids {
			want[id] = int32(i)
		}
		asked := append(others, ids...)
		got := make([]int32, len(asked))
		newIndex(ids).find(asked, got)
		for i, id := range asked {
			number, known := want[id]
			if !known {
				number = -1
			}
			if got[i] != number {
				t.Fatalf("%q has number %d, want %d", id, got[i], number)
			}
		}
	})
}

// Two ids whose hashes begin at the same slot are told apart.
func TestIndexOfManyIDs(t *testing.T) {
	ids := make([]string, 100_000)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	x, got := newIndex(ids), make([]int32, len(ids))
	x.find(ids, got)
	for i, number := range got {
		if number != int32(i) {
			t.Fatalf("id %q has number %d, want %d", ids[i], number, i)
		}
	}
	x.find([]string{"100000", "", "-1"}, got)
	for i, number := range got[:3] {
		if number != -1 {
			t.Errorf("unknown id %d has number %d", i, number)
		}
	}
}

// BenchmarkMemory looks up the neighbours of a batch in an index, beside a map of strings, and measures their
// memory beyond the ids' bytes.
func BenchmarkMemory(b *testing.B) {
	const n, batch = 153_431, 5_000
	for _, kind := range idKinds {
		ids := drawn(n, kind.make).IDs
		rng := rand.New(rand.NewPCG(9, 9))
		batches := make([][]string, 20)
		for k := range batches {
			for range batch {
				batches[k] = append(batches[k], fmt.Sprint(ids[rng.IntN(n)])) // as decoded: not the same bytes in memory
			}
		}
		var m map[string]int32
		var x *index
		b.Run(kind.name+"/map", func(b *testing.B) {
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
		b.Run(kind.name+"/index", func(b *testing.B) {
			before := heap()
			x = newIndex(ids)
			taken := float64(int(heap()-before)-len(x.text)) / n
			numbers := make([]int32, batch)
			for k := 0; b.Loop(); k++ {
				x.find(batches[k%len(batches)], numbers)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/id")
			b.ReportMetric(taken, "B/row")
		})
		runtime.KeepAlive(m)
		runtime.KeepAlive(x)
	}
	memory := FromArtifact(drawn(n, idKinds[0].make))
	rows := make([]infer.Row, batch)
	ids := make([]string, batch)
	for i := range ids {
		ids[i] = fmt.Sprint(i * 30)
	}
	b.Run("rows", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := memory.Rows(b.Context(), ids, rows); err != nil {
				b.Fatal(err)
			}
		}
	})
}
