package trainer

import (
	"rivulet/artifact"
	"rivulet/graph"
)

// footprint is the memory in bytes that a deployment takes for T's nodes where it serves: in each consumer, and in
// Redis.
type footprint struct{ memory, stored int64 }

// footprint measures the memory for T's nodes of a deployment, once for each M. A deployment that is joined to T takes
// none beside T. T's own tables are kept by the same ids and have no form in Redis: the bytes of ids and tables are
// counted.
func (t *task) footprint(p *deployedModel) footprint {
	keeper := t.options.Keeper
	if keeper == nil || (p.through == nil && p.kept == 0) {
		return footprint{}
	}
	if known, ok := t.whole.footprints[p.through]; ok && p.through != nil {
		return known
	}
	if p.through == nil {
		n := t.original.Adj.Rows
		ids := &artifact.Mapping{IDs: t.original.IDs, Rows: &graph.CSR{Rows: n, Cols: 1, RowPtr: make([]int, n+1)}}
		out := footprint{memory: p.kept + keeper.Held(ids), stored: p.kept}
		for _, id := range ids.IDs {
			out.stored += int64(len(id))
		}
		return out
	}
	m := &artifact.Mapping{IDs: t.original.IDs, Rows: p.through}
	out := footprint{keeper.Held(m), keeper.Stored(m)}
	t.whole.footprints[p.through] = out
	return out
}
