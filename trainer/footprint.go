package trainer

import (
	"rivulet/artifact"
	"rivulet/graph"
)

// held is the memory that a deployment needs for T's nodes where it serves: in a consumer and in Redis, in
// bytes.
type held struct{ held, stored int64 }

// held measures the memory for T's nodes of a deployment, of each M once; nothing for a deployment that is
// joined to T, which holds T itself. T's own tables are held by the same ids, and have no form in Redis: the
// bytes of ids and tables are counted.
func (t *task) held(p *placed) held {
	keeper := t.options.Keeper
	if keeper == nil || (p.through == nil && p.tables == nil) {
		return held{}
	}
	if known, ok := t.whole.held[p.through]; ok && p.through != nil {
		return known
	}
	if p.through == nil {
		n := t.original.Adj.Rows
		ids := &artifact.Mapping{IDs: t.original.IDs, Rows: &graph.CSR{Rows: n, Cols: 1, RowPtr: make([]int, n+1)}}
		out := held{held: p.kept + keeper.Held(ids), stored: p.kept}
		for _, id := range ids.IDs {
			out.stored += int64(len(id))
		}
		return out
	}
	m := &artifact.Mapping{IDs: t.original.IDs, Rows: p.through}
	out := held{keeper.Held(m), keeper.Stored(m)}
	t.whole.held[p.through] = out
	return out
}
