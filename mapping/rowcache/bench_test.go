package rowcache

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"

	"rivulet/infer/attach"
)

// BenchmarkCache looks up rows of four entries, 1,024 of them in a call, among so many, and adds them.
func BenchmarkCache(b *testing.B) {
	const call = 1024
	for _, n := range []int{10_000, 300_000} {
		rng := rand.New(rand.NewPCG(1, 2))
		c, ids := New(256<<20, rowOfArrival), make([]string, n)
		row := attach.Row{Known: true, Arrived: true, Cols: []int32{1, 2, 3, 4}, Vals: []float32{1, 2, 3, 4}}
		all := iter.Seq[Row](func(yield func(Row) bool) {
			for _, id := range ids {
				yield(Row{id, row, 0})
			}
		})
		for i := range ids {
			ids[i] = fmt.Sprint("arrival-", i)
		}
		c.Set(all)
		b.Run(fmt.Sprintf("get/rows=%d", n), func(b *testing.B) {
			asked, rows, looked := make([]string, call), make([]attach.Row, call), 0
			for b.Loop() {
				for k := range asked {
					asked[k] = ids[rng.IntN(n)]
				}
				if absent := c.Get(asked, rows, 0); len(absent) > 0 {
					b.Fatalf("%d rows are not there", len(absent))
				}
				looked += call
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(looked), "ns/row")
		})
		b.Run(fmt.Sprintf("set/rows=%d", n), func(b *testing.B) {
			var filled *Cache
			for b.Loop() {
				filled = New(256<<20, rowOfArrival)
				filled.Set(all)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/row")
			b.ReportMetric(float64(filled.young.bytes)/float64(n), "B/row")
		})
	}
}
