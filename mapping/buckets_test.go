package mapping

import (
	"fmt"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// No bucket is empty, whatever the ids; ids that were not chosen for it use the largest number of buckets.
func TestBucketsAreNeverEmpty(t *testing.T) {
	filled := func(ids []string, n int) int {
		table, seen := Table{Buckets: n}, map[uint32]bool{}
		for _, id := range ids {
			seen[table.bucket(id)] = true
		}
		return len(seen)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20_000).Draw(t, "ids")
		ids := make([]string, n)
		for i := range ids {
			ids[i] = strconv.Itoa(i)
		}
		if got := Buckets(ids); got != MaxBuckets(n) || filled(ids, got) != got {
			t.Fatalf("%d buckets for %d ids, %d of them filled; at most %d", got, n, filled(ids, got), MaxBuckets(n))
		}
	})
	var few []string // all in the first third of 10 buckets
	table := Table{Buckets: MaxBuckets(480)}
	for i := 0; len(few) < 480; i++ {
		if id := fmt.Sprint("x", i); table.bucket(id) < 3 {
			few = append(few, id)
		}
	}
	if got := Buckets(few); got < 1 || got >= table.Buckets || filled(few, got) != got {
		t.Errorf("%d buckets, %d of them filled", got, filled(few, got))
	}
	if got := Buckets(nil); got != 1 {
		t.Errorf("%d buckets without ids", got)
	}
}
