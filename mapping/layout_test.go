package mapping

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/test/expect"
)

// Pages have some rows in the mean, buckets some thousands of bytes, and small tables have several buckets; the
// layout is one that a reader takes.
func TestLayoutOf(t *testing.T) {
	for _, c := range []struct {
		rows    int
		idBytes int64
		entries int
		want    Layout
	}{
		{0, 0, 0, Layout{1, 1}},
		{1, 10, 4, Layout{1, 1}},
		{8, 80, 32, Layout{1, 1}},
		{9, 90, 36, Layout{1, 2}},
		{300, 900, 1200, Layout{8, 8}},
		{10_000, 40_000, 40_000, Layout{16, 128}},
		{3_000_000, 21_000_000, 12_000_000, Layout{4096, 128}},
		{1000, 200_000_000, 4000, Layout{128, 1}}, // ids of 200 KB: no more buckets than pages
		{2_000_000_000, 18_000_000_000, 8_000_000_000, Layout{mostBuckets, 256}},
	} {
		got := layoutOf(c.rows, c.idBytes, c.entries)
		if got != c.want {
			t.Errorf("%d rows, %d bytes of ids, %d entries: %+v, want %+v", c.rows, c.idBytes, c.entries, got, c.want)
		}
		if err := got.Check(c.rows); err != nil {
			t.Errorf("%d rows: %v", c.rows, err)
		}
	}
}

func TestLayoutIsChecked(t *testing.T) {
	for _, c := range []struct {
		l    Layout
		want string
	}{
		{Layout{0, 1}, "buckets is 0 for 100 rows, want a power of two of up to 16"},
		{Layout{3, 1}, "buckets is 3"},
		{Layout{1, -4}, "pages is -4"},
		{Layout{32, 1}, "buckets is 32"},
		{Layout{8, 4}, "8 buckets of 4 pages for 100 rows, want up to 16 pages in all"},
		{Layout{math.MaxInt, math.MaxInt}, "buckets is"},
	} {
		expect.Error(t, c.l.Check(100), c.want, "%+v", c.l)
	}
}

// The first and the last hash are in the first and the last page, and a page belongs to one bucket.
func TestPagesOfHashes(t *testing.T) {
	for _, l := range []Layout{{1, 1}, {1, 8}, {8, 1}, {16, 64}} {
		last := uint32(l.Buckets*l.Pages - 1)
		if lo, hi := l.pageAt(0), l.pageAt(math.MaxUint64); lo != 0 || hi != last {
			t.Errorf("%+v: pages %d to %d, want 0 to %d", l, lo, hi, last)
		}
		if b := l.bucketOf(last); b != l.Buckets-1 {
			t.Errorf("%+v: the last page is in bucket %d", l, b)
		}
	}
}

// A bucket gives back its rows, each in its id's page, and its page table says how many they are and how long the
// bucket is.
func TestBucketsHoldTheirRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.String(), 0, 60, rapid.ID[string]).Draw(t, "ids")
		m := &artifact.Mapping{IDs: ids, Rows: &graph.CSR{Cols: 500, RowPtr: []int{0}, Val: []float32{}}}
		for range ids {
			for c := range int32(rapid.IntRange(0, 5).Draw(t, "entries")) {
				m.Rows.ColIdx, m.Rows.Val = append(m.Rows.ColIdx, 90*c), append(m.Rows.Val, float32(c))
			}
			m.Rows.Rows++
			m.Rows.RowPtr = append(m.Rows.RowPtr, len(m.Rows.ColIdx))
		}
		g, found := Group(m), map[string]string{}
		l := g.Layout()
		table := &Table{Layout: l, MarkerID: "1:abc"}
		for b := range l.Buckets {
			_, text, err := g.bucket([]byte("before"), table, b)
			expect.OK(t, err)
			tables := newPageTables(table)
			if err := tables.put(b, text); err != nil || tables.size(b) != len(text) {
				t.Fatalf("a page table of %d bytes for %d (%v)", tables.size(b), len(text), err)
			}
			rows := 0
			for p := range l.Pages {
				begin, end := tables.page(uint32(b*l.Pages + p))
				if begin == end {
					continue
				}
				rest, err := tables.seals.open(uint32(b*l.Pages+p), text[begin:end])
				expect.OK(t, err)
				for ; len(rest) > 0; rows++ {
					var id, row []byte
					if id, row, rest, err = nextRow(rest); err != nil {
						t.Fatal(err)
					}
					if l.page(string(id)) != uint32(b*l.Pages+p) {
						t.Fatalf("id %q is in page %d of bucket %d", id, p, b)
					}
					found[string(id)] = string(row)
				}
			}
			if rows != int(tables.rows[b]) {
				t.Fatalf("%d rows, the page table says %d", rows, tables.rows[b])
			}
		}
		for i, id := range ids {
			if want := string(AppendRow(nil, RowOf(m, i))); found[id] != want {
				t.Fatalf("id %q has the row %x, want %x", id, found[id], want)
			}
		}
		if len(found) != len(ids) {
			t.Fatalf("%d ids, want %d", len(found), len(ids))
		}
	})
}

func TestPageTablesAreChecked(t *testing.T) {
	table := func(rows uint32, ends ...uint32) []byte {
		data := binary.LittleEndian.AppendUint32(make([]byte, 8), rows)
		for _, end := range ends {
			data = binary.LittleEndian.AppendUint32(data, end)
		}
		binary.LittleEndian.PutUint64(data, seals(7).table(5, data[8:]))
		return data
	}
	ends := make([]uint32, 2)
	if rows, err := seals(7).parsePageTable(5, ends, append(table(3, 20, 29), "rows"...)); rows != 3 || ends[0] != 20 ||
		ends[1] != 29 || err != nil {
		t.Errorf("%d rows, ends %d, error %v", rows, ends, err)
	}
	other := table(3, 20, 29)
	other[12]++
	for want, data := range map[string][]byte{
		"a page table of 0 bytes for 2 pages, want 20": nil,
		"of 19 bytes":                        table(3, 20, 29)[:19],
		"a page table with the checksum":     other,
		"page 0 ends at byte 19, want 20":    table(3, 19, 29),
		"page 1 ends at byte 24, want 25":    table(3, 25, 24),
		"page 0 ends at byte 0, want 20 or ": table(0, 0, 0),
	} {
		expect.Error(t, expect.ErrorOf(seals(7).parsePageTable(5, ends, data)), want, "%x", data)
	}
}

// What is not a row is refused, and nothing behind the page is read.
func FuzzNextRow(f *testing.F) {
	f.Add([]byte("\x01a\x01\x00"))
	f.Add([]byte("\x05ab"))
	f.Add([]byte("\x80\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		id, row, rest, err := nextRow(data)
		if err != nil {
			return
		}
		again := append(append(fmt.Appendf(nil, "%s", uvarintOf(len(id))), id...), uvarintOf(len(row))...)
		again = append(append(again, row...), rest...)
		if string(again) != string(data) {
			t.Errorf("%x is read as id %x, row %x and %x", data, id, row, rest)
		}
	})
}

func uvarintOf(n int) []byte {
	var out []byte
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

// A page that is cut, damaged in what lies around its rows, or of another length costs its own ids, with a reason
// that names the bucket.
func TestADamagedPageIsToldFromAnUnknownID(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		m := numbered(300, 3)
		table := stored(t, client, prefix, m)
		key := table.Key(table.bucket("7"))
		good := client.Get(t.Context(), key).Val()
		tables := newPageTables(&table)
		expect.OK(t, tables.put(table.bucket("7"), []byte(good)))
		begin, end := tables.page(table.page("7"))
		for name, bad := range map[string]string{
			"a length":        good[:begin] + "\xff\xff\x03" + good[begin+3:],
			"cut":             good[:end-1],
			"an end":          good[:tableHead] + string(good[tableHead]+1) + good[tableHead+1:],
			"the number":      good[:8] + "\xff" + good[9:],
			"half a table":    good[:6],
			"something other": "not a bucket, but long enough to have a page table, which ends before it begins",
		} {
			client.Set(t.Context(), key, bad, 0)
			lookup := NewRedis(client, table)
			rows := make([]attach.Row, 3)
			for range 2 {
				err := lookup.Rows(t.Context(), []string{"8", "7", "nobody"}, rows)
				if some, ok := errors.AsType[*incomplete](err); !ok || len(some.evicted) > 0 || len(some.damaged) == 0 ||
					!strings.Contains(err.Error(), key) {
					t.Errorf("%s: error = %v, want one about damaged rows of %s", name, err, key)
				}
				if table.page("8") != table.page("7") && table.bucket("8") != table.bucket("7") && !rows[0].Known {
					t.Errorf("%s: the row of another bucket was not read", name)
				}
			}
			client.Set(t.Context(), key, good, 0)
			if rows := mustRows(t, lookup, "7", "nobody"); !rows[0].Known || rows[1].Known {
				t.Errorf("%s: after it was mended: %v", name, rows)
			}
		}
	})
}
