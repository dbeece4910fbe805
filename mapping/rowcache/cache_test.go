package rowcache

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/infer/attach"
	"rivulet/test/expect"
)

// cacheOne and recall set and get one row.
func cacheOne(c *Cache, id string, row attach.Row, epoch int64) {
	c.Set(slices.Values([]Row{{id, row, epoch}}))
}

func recall(c *Cache, id string, oldest int64) (attach.Row, bool) {
	rows := make([]attach.Row, 1)
	absent := c.Get([]string{id}, rows, oldest)
	return rows[0], len(absent) == 0
}

// A cache with room for everything finds what was set last, under a living epoch, and nothing else.
func TestRowCacheIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, want := New(1<<22, rowOfArrival), map[string]Row{}
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			r := Row{ID: strings.Repeat("i", rapid.IntRange(0, 70).Draw(t, "id")),
				Stamp: rapid.Int64Range(-1, 3).Draw(t, "epoch"),
				Row:   attach.Row{Known: true, Arrived: true}}
			for col := range int32(rapid.IntRange(0, 5).Draw(t, "entries")) {
				r.Row.Cols, r.Row.Vals = append(r.Row.Cols, 3*col), append(r.Row.Vals, rapid.Float32().Draw(t, "value"))
			}
			c.Set(slices.Values([]Row{r}))
			want[r.ID] = r
		}
		oldest := rapid.Int64Range(-1, 3).Draw(t, "oldest")
		for n := range 72 {
			id := strings.Repeat("i", n)
			w, there := want[id]
			got, found := recall(c, id, oldest)
			if there = there && w.Stamp >= oldest; found != there {
				t.Fatalf("id of %d bytes: found is %t, want %t", n, found, there)
			}
			if diff := cmp.Diff(w.Row, got); there && diff != "" {
				t.Fatalf("id of %d bytes (-want +got):\n%s", n, diff)
			}
		}
	})
}

// The memory of a cache stays in its bounds. Rows that are asked for stay in it, those that nobody asks for go, and a
// row that was handed out stays as it is.
func TestRowCacheStaysInBounds(t *testing.T) {
	const limit, many = 1 << 18, 20_000
	row := func(i int) attach.Row {
		return attach.Row{Known: true, Arrived: true, Cols: []int32{1, int32(2 + i)}, Vals: []float32{1, float32(i)}}
	}
	c, largest := New(limit, rowOfArrival), int64(0)
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
		got, found := recall(&Cache{limit: limit, head: rowOfArrival, young: c.young, old: c.old}, fmt.Sprint("arrival-", i),
			0)
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
	expect.Same(t, row(-1), handedOut, "the row that was handed out has changed")
}

// A row of the old generation that is asked for is in the young one, too, and counts once, also where a call has its id
// twice. It does not replace a newer row, and one that has expired stays behind.
func TestRowCacheRenews(t *testing.T) {
	c := New(1<<16, rowOfArrival)
	row := func(v float32) attach.Row {
		return attach.Row{Known: true, Arrived: true, Cols: []int32{1}, Vals: []float32{v}}
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
	rows := make([]attach.Row, 4)
	if absent := c.Get([]string{"7", "8", "7", "9"}, rows, 1); !slices.Equal(absent, []int32{1}) || rows[2].Vals[0] != 7 {
		t.Errorf("absent are %v and row 2 is %+v, want 1 alone, which is too old, and the row of 7", absent, rows[2])
	}
	if n, _ := c.Size(); n != 100 || c.young.used != 3 {
		t.Errorf("%d rows are in memory, %d of them in the young generation, want 100 and 3", n, c.young.used)
	}
}

// A row and an id that are larger than a piece of memory have one of their own.
func TestRowCacheOfLargeRows(t *testing.T) {
	c := New(64<<20, rowOfArrival)
	large := attach.Row{Known: true, Arrived: true, Cols: make([]int32, 30_000), Vals: make([]float32, 30_000)}
	for i := range large.Cols {
		large.Cols[i], large.Vals[i] = int32(i), float32(i)
	}
	small := attach.Row{Known: true, Arrived: true, Cols: []int32{7}, Vals: []float32{7}}
	ids := []string{"before", strings.Repeat("long", 100_000), "after"}
	for k, row := range []attach.Row{small, large, small} {
		cacheOne(c, ids[k], row, 0)
	}
	for k, row := range []attach.Row{small, large, small} {
		if got, found := recall(c, ids[k], 0); !found || !cmp.Equal(row, got) {
			t.Errorf("row %d is not the one that was set: found is %t", k, found)
		}
	}
}

// The cache owns its memory: ids and rows may be parts of whole records and batches, which are used again.
func TestRowCacheOwnsItsRows(t *testing.T) {
	c := New(1<<16, rowOfArrival)
	record := []byte("arrival-7")
	row := attach.Row{Known: true, Arrived: true, Cols: []int32{1, 2}, Vals: []float32{3, 4}}
	cacheOne(c, unsafe.String(&record[0], len(record)), row, 0)
	copy(record, "something")
	row.Cols[0], row.Vals[0] = 9, 9
	want := attach.Row{Known: true, Arrived: true, Cols: []int32{1, 2}, Vals: []float32{3, 4}}
	if got, found := recall(c, "arrival-7", 0); !found || !cmp.Equal(want, got) {
		t.Errorf("found %t: %+v, want %+v", found, got, want)
	}
}

// Lanes of a consumer share a cache.
func TestRowCacheConcurrently(t *testing.T) {
	c := New(1<<14, rowOfArrival)
	var lanes sync.WaitGroup
	for range 4 {
		lanes.Go(func() {
			for i := range 5000 {
				n := i % 300
				cacheOne(c, fmt.Sprint(n), attach.Row{Known: true, Arrived: true, Cols: []int32{int32(n)}, Vals: []float32{1}}, 0)
				if got, found := recall(c, fmt.Sprint((i*7)%300), 0); found && got.Cols[0] != int32((i*7)%300) {
					t.Errorf("row %d is %+v", (i*7)%300, got)
				}
			}
		})
	}
	lanes.Wait()
}

// rowOfArrival begins the row of an arrival, whichever its stamp is.
func rowOfArrival(int64) attach.Row { return attach.Row{Known: true, Arrived: true} }

// The memory of an empty cache is its slots, one piece and the doorkeeper.
func TestMemoryOfOneRow(t *testing.T) {
	c := NewSelective(1<<20, rowOfArrival)
	cacheOne(c, "1", attach.Row{Known: true, Cols: []int32{1}, Vals: []float32{1}}, 0)
	_, bytes := c.Size()
	if want := int64(2*fewestSlots*slotBytes+c.young.size*unitBytes) + c.door.bytes(); bytes != want {
		t.Errorf("%d bytes, want %d for the slots of two generations, a piece and a doorkeeper", bytes, want)
	}
}
