package wire

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/test/expect"
)

// Batches made anew hold the records of the one before, in order, each with its place.
func TestRewrittenBatchesProperty(t *testing.T) {
	t.Parallel()
	text := rapid.SliceOfN(rapid.Byte(), 0, 200)
	rapid.Check(t, func(r *rapid.T) {
		b := NewBatch(Batch{})
		var want []plainRecord
		n := rapid.IntRange(1, 30).Draw(r, "records")
		for k := range n {
			p := plainRecord{Key: text.Draw(r, "key"), Value: text.Draw(r, "value"),
				Stamp:   rapid.Int64Range(0, 1<<41).Draw(r, "time"),
				Headers: []Header{{Key: "place", Value: fmt.Append(nil, k)}}}
			want = append(want, p)
			b.Append(p.Key, p.Value, p.Headers, time.UnixMilli(p.Stamp), k)
		}
		limit := rapid.IntRange(1, 2*len(b.buf)).Draw(r, "limit")
		check := func(parts []Batch, want []plainRecord, places []int32) {
			got, at := []plainRecord{}, []int32{}
			for i := range parts {
				if len(parts[i].buf) > limit && parts[i].Count() > 1 && len(parts) > 1 {
					r.Fatalf("a part has %d bytes of %d and %d records", len(parts[i].buf), limit, parts[i].Count())
				}
				wire, err := parts[i].Finish(0)
				expect.OK(r, err)
				got, at = append(got, decode(r, wire)...), append(at, parts[i].places...)
			}
			if diff := cmp.Diff(want, got); diff != "" || !slices.Equal(at, places) {
				r.Fatalf("places %v, want %v; records (-want +got):\n%s", at, places, diff)
			}
		}
		check(b.Split(limit), want, b.places)
		gone := int32(rapid.IntRange(0, n-1).Draw(r, "gone"))
		limit = len(b.buf)
		check(b.Without([]int32{gone}), slices.Delete(slices.Clone(want), int(gone), int(gone)+1),
			slices.Delete(slices.Clone(b.places), int(gone), int(gone)+1))
	})
}

// A record that is alone in its batch has the size that is said of it.
func TestBatchBytesAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		rec := Record{Value: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(r, "value")}
		if rapid.Bool().Draw(r, "keyed") {
			rec.Key = rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(r, "key")
		}
		for range rapid.IntRange(0, 200).Draw(r, "headers") {
			rec.Headers = append(rec.Headers, Header{Key: "h", Value: []byte("0123456789")})
		}
		b := NewBatch(Batch{})
		b.Append(rec.Key, rec.Value, rec.Headers, time.UnixMilli(1<<40), 0)
		wire, err := b.Finish(0)
		expect.OK(r, err)
		if got := rec.BatchBytes(); got != len(wire)-4 { // without the size before it
			r.Fatalf("BatchBytes is %d, the batch has %d bytes", got, len(wire)-4)
		}
	})
}
