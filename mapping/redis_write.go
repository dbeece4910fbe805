package mapping

import (
	"context"
	"fmt"

	"rivulet/artifact"
	"rivulet/infer/attach"
)

// Bounds of one pipeline: of writes buckets and bytes of ids and rows, whichever is first; of
// counting and removing keys.
const (
	bucketsPerPipeline = 256
	BytesPerPipeline   = 1 << 20
	KeysPerPipeline    = 1024
)

// rowWriter holds the rows of M in the order of their buckets.
type rowWriter struct {
	layout Layout
	m      *artifact.Mapping
	start  []int   // Buckets+1; rows of bucket b are order[start[b]:start[b+1]]
	order  []int32 // N
}

// group sorts the rows by bucket.
func (w *rowWriter) group() {
	buckets := make([]int, len(w.m.IDs))
	w.start = make([]int, w.layout.Buckets+1)
	for i, id := range w.m.IDs {
		buckets[i] = w.layout.bucket(id)
		w.start[buckets[i]+1]++
	}
	for b := range w.layout.Buckets {
		w.start[b+1] += w.start[b]
	}
	next := append([]int(nil), w.start[:w.layout.Buckets]...)
	w.order = make([]int32, len(w.m.IDs))
	for i, b := range buckets {
		w.order[next[b]] = int32(i)
		next[b]++
	}
}

func (w *rowWriter) bucket(arena []byte, b int) ([]byte, []any, error) {
	rows := w.order[w.start[b]:w.start[b+1]]
	values := make([]any, 0, 2*len(rows))
	for _, i := range rows {
		begin := len(arena)
		arena = AppendRow(arena, RowOf(w.m, int(i)))
		values = append(values, w.m.IDs[i], arena[begin:len(arena):len(arena)])
	}
	return arena, values, nil
}

func (w *rowWriter) before(b int) int { return w.start[b] }

func (*rowWriter) close() error { return nil }

// RowOf returns row i of m.
func RowOf(m *artifact.Mapping, i int) attach.Row {
	cols, vals := m.Rows.Row(i)
	if vals == nil {
		vals = make([]float32, len(cols))
		for k := range vals {
			vals[k] = 1
		}
	}
	return attach.Row{Known: true, Cols: cols, Vals: vals}
}

// DeleteRows removes the table's rows. It may be interrupted and called again. The marker must be gone before.
func DeleteRows(ctx context.Context, client Client, table Table) error {
	for first := 0; first < table.Buckets; first += KeysPerPipeline {
		pipe := client.Pipeline()
		last := min(first+KeysPerPipeline, table.Buckets)
		for b := first; b < last; b++ {
			pipe.Unlink(ctx, table.Key(b)) // one a command: on a cluster the buckets are in different slots
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("removing mapping rows, buckets %d to %d of %d: %w", first, last-1, table.Buckets, err)
		}
	}
	return nil
}

// CountRows counts the rows of a table's complete buckets.
func CountRows(ctx context.Context, client Client, table Table) (int, error) {
	return NewRedis(client, table).Count(ctx)
}
