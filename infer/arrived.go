package infer

import "rivulet/graph"

// Attachable is a frozen deployment that tells what later arrivals would read of the arrivals of a batch: rows of
// [Network.Tables], as if the arrivals had become nodes of the graph. Every frozen deployment of a model is one.
type Attachable interface {
	Deployment
	// ArrivedTables returns the tables of the arrivals, n rows each, in the widths of the model's tables.
	ArrivedTables(b *Batch) *Tables
}

// An arrival's own tables are those of docs/algorithm.md, section 2, with the arrival for node j: computed as if it had one
// neighbour more, the later arrival. What its neighbours send is what every arrival reads of them: Σ_k B_jk x_k W/√D_k becomes
// a·u0 (on S r·u0'), as the tables of neighbour k count the arrival as their one neighbour more, plus ã(q z) of the batch.
// Where the tables are T's that is exact for one arrival joined alone, but for APPNP, whose walks around the arrival longer
// than i→j→i are missing.

// gather adds ã(in·z) of arrival i to dst.
func (b *Batch) gather(dst []float32, i int, in []float32, z *graph.Dense) {
	if b.Adj == nil {
		return
	}
	cols, _ := b.Adj.Row(i)
	for _, j := range cols {
		graph.Axpy(dst, in[j], z.Row(int(j)))
	}
}
