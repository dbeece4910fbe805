package mapping

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/infer"
)

// cacheOne and recall set and get one row.
func cacheOne(c *rowCache, id string, row infer.Row, epoch int64) {
	c.set(slices.Values([]cachedRow{{id, row, epoch}}))
}

func recall(c *rowCache, id string, oldest int64) (infer.Row, bool) {
	rows := make([]infer.Row, 1)
	absent := c.get([]string{id}, rows, oldest)
	return rows[0], len(absent) == 0
}

// A cache with room for everything finds what was set last, under a living epoch, and nothing else.
func TestRowCacheIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, want := newRowCache(1<<22, rowOfArrival), map[string]cachedRow{}
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			r := cachedRow{id: strings.Repeat("i", rapid.IntRange(0, 70).Draw(t, "id")), stamp: rapid.Int64Range(-1, 3).Draw(t, "epoch"),
				row: infer.Row{Known: true, Arrived: true}}
			for col := range int32(rapid.IntRange(0, 5).Draw(t, "entries")) {
				r.row.Cols, r.row.Vals = append(r.row.Cols, 3*col), append(r.row.Vals, rapid.Float32().Draw(t, "value"))
			}
			c.set(slices.Values([]cachedRow{r}))
			want[r.id] = r
		}
		oldest := rapid.Int64Range(-1, 3).Draw(t, "oldest")
		for n := range 72 {
			id := strings.Repeat("i", n)
			w, there := want[id]
			got, found := recall(c, id, oldest)
			if there = there && w.stamp >= oldest; found != there {
				t.Fatalf("id of %d bytes: found is %t, want %t", n, found, there)
			}
			if diff := cmp.Diff(w.row, got); there && diff != "" {
				t.Fatalf("id of %d bytes (-want +got):\n%s", n, diff)
			}
		}
	})
}

// The memory of a cache stays in its bounds. Rows that are asked for stay in it, those that nobody asks for go, and a
// row that was handed out stays as it is.
func TestRowCacheStaysInBounds(t *testing.T) {
	const limit, many = 1 << 18, 20_000
	row := func(i int) infer.Row {
		return infer.Row{Known: true, Arrived: true, Cols: []int32{1, int32(2 + i)}, Vals: []float32{1, float32(i)}}
	}
	c, largest := newRowCache(limit, rowOfArrival), int64(0)
	cacheOne(c, "hub", row(-1), 0)
	handedOut, _ := recall(c, "hub", 0)
	for i := range many {
		cacheOne(c, fmt.Sprint("arrival-", i), row(i), 0)
		if got, found := recall(c, "hub", 0); !found || got.Vals[1] != -1 {
			t.Fatalf("after %d rows the one in use is %+v, %t", i, got, found)
		}
		largest = max(largest, c.young.bytes+c.old.bytes)
	}
	there := 0
	for i := range many {
		got, found := recall(&rowCache{limit: limit, head: rowOfArrival, young: c.young, old: c.old}, fmt.Sprint("arrival-", i), 0)
		if found && !cmp.Equal(got, row(i)) {
			t.Fatalf("row %d is %+v", i, got)
		}
		if found {
			there++
		}
	}
	if largest > limit || there < limit/2/100 || there > limit/50 {
		t.Errorf("%d rows of about 70 bytes are there, and they took up to %d bytes, want at most %d", there, largest, limit)
	}
	if diff := cmp.Diff(row(-1), handedOut); diff != "" {
		t.Errorf("the row that was handed out has changed (-want +got):\n%s", diff)
	}
}

// A row of the old generation that is asked for is in the young one, too, and counts once, also where a call has its id
// twice. It does not replace a newer row, and one that has expired stays behind.
func TestRowCacheRenews(t *testing.T) {
	c := newRowCache(1<<16, rowOfArrival)
	row := func(v float32) infer.Row {
		return infer.Row{Known: true, Arrived: true, Cols: []int32{1}, Vals: []float32{v}}
	}
	for i := range 100 {
		cacheOne(c, fmt.Sprint(i), row(float32(i)), int64(i%2))
	}
	c.young, c.old = c.newGeneration(0), c.young
	cacheOne(c, "4", row(-4), 0) // by another lane, while this one was about to renew
	c.renewed++
	c.renew([]string{"4"}, []int32{0})
	if got, _ := recall(c, "4", 0); got.Vals[0] != -4 {
		t.Errorf("the newer row was replaced by %v", got.Vals)
	}
	rows := make([]infer.Row, 4)
	if absent := c.get([]string{"7", "8", "7", "9"}, rows, 1); !slices.Equal(absent, []int32{1}) || rows[2].Vals[0] != 7 {
		t.Errorf("absent are %v and row 2 is %+v, want 1 alone, which is too old, and the row of 7", absent, rows[2])
	}
	if n, _ := c.size(); n != 100 || c.young.used != 3 {
		t.Errorf("%d rows are in memory, %d of them in the young generation, want 100 and 3", n, c.young.used)
	}
}

// A row and an id that are larger than a piece of memory have one of their own.
func TestRowCacheOfLargeRows(t *testing.T) {
	c := newRowCache(64<<20, rowOfArrival)
	large := infer.Row{Known: true, Arrived: true, Cols: make([]int32, 30_000), Vals: make([]float32, 30_000)}
	for i := range large.Cols {
		large.Cols[i], large.Vals[i] = int32(i), float32(i)
	}
	small := infer.Row{Known: true, Arrived: true, Cols: []int32{7}, Vals: []float32{7}}
	ids := []string{"before", strings.Repeat("long", 100_000), "after"}
	for k, row := range []infer.Row{small, large, small} {
		cacheOne(c, ids[k], row, 0)
	}
	for k, row := range []infer.Row{small, large, small} {
		if got, found := recall(c, ids[k], 0); !found || !cmp.Equal(row, got) {
			t.Errorf("row %d is not the one that was set: found is %t", k, found)
		}
	}
}

// The cache owns its memory: ids and rows may be parts of whole records and batches, which are used again.
func TestRowCacheOwnsItsRows(t *testing.T) {
	c := newRowCache(1<<16, rowOfArrival)
	record := []byte("arrival-7")
	row := infer.Row{Known: true, Arrived: true, Cols: []int32{1, 2}, Vals: []float32{3, 4}}
	cacheOne(c, cut(record, []int{len(record)})[0], row, 0)
	copy(record, "something")
	row.Cols[0], row.Vals[0] = 9, 9
	want := infer.Row{Known: true, Arrived: true, Cols: []int32{1, 2}, Vals: []float32{3, 4}}
	if got, found := recall(c, "arrival-7", 0); !found || !cmp.Equal(want, got) {
		t.Errorf("found %t: %+v, want %+v", found, got, want)
	}
}

// Lanes of a consumer share a cache.
func TestRowCacheConcurrently(t *testing.T) {
	c := newRowCache(1<<14, rowOfArrival)
	var lanes sync.WaitGroup
	for range 4 {
		lanes.Go(func() {
			for i := range 5000 {
				n := i % 300
				cacheOne(c, fmt.Sprint(n), infer.Row{Known: true, Arrived: true, Cols: []int32{int32(n)}, Vals: []float32{1}}, 0)
				if got, found := recall(c, fmt.Sprint((i*7)%300), 0); found && got.Cols[0] != int32((i*7)%300) {
					t.Errorf("row %d is %+v", (i*7)%300, got)
				}
			}
		})
	}
	lanes.Wait()
}

// Rows are readable if their encoding can be decoded, and rowLength returns the length of the encoding.
func TestReadableRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := infer.Row{Known: true}
		for col := int32(0); rapid.Bool().Draw(t, "more"); col++ {
			col += rapid.Int32Range(0, 300).Draw(t, "gap")
			row.Cols, row.Vals = append(row.Cols, col), append(row.Vals, rapid.Float32().Draw(t, "value"))
		}
		data := AppendRow(nil, row)
		synthetic := rapid.IntRange(1, 1000).Draw(t, "synthetic")
		if _, err := DecodeRow(data, synthetic); (err == nil) != readable(row, synthetic) {
			t.Fatalf("readable is %t, decoding: %v", readable(row, synthetic), err)
		}
		if n := rowLength(row); n != len(data) {
			t.Fatalf("length %d, want %d", n, len(data))
		}
	})
}
