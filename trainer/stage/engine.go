package stage

import (
	"context"
	"iter"
)

// Table is a finished table of records, known by its name alone.
type Table struct {
	Name    string
	Records int64
	Bytes   int64 // of orders and payloads
}

// Source is a table of rows as a user has it: nodes or edges.
type Source struct {
	// Identity identifies the rows in the names of tables. It changes when the rows do.
	Identity string
	// Rows are the rows in the form that the reading stage takes ([rivulet/trainer/stage/partition.AppendNode] and
	// AppendEdge), valid until the next. It is read by one goroutine.
	Rows iter.Seq2[[]byte, error]
	// InPlace is the table with the columns to be read, in their order, if a [Looker] is to read it in place of Rows.
	InPlace *InPlace
	// Form is the side of the reading stage with the meaning of InPlace's cells
	// ([rivulet/trainer/stage/partition.FormOf]).
	Form []byte
}

// Engine runs stages. Tables of finished stages are kept under their names and are not made again.
//
// The stages of a run and their order follow from the data and the options alone; an engine decides where
// records lie, how they travel and who calls the functions.
type Engine interface {
	// Scan runs a stage with [Spec.Map] over the rows of a source: each is the payload of a record.
	Scan(ctx context.Context, s Spec, from Source) ([]Table, error)
	// Run runs a stage over tables: a record of inputs[k] has tag k.
	Run(ctx context.Context, s Spec, inputs ...Table) ([]Table, error)
	// Put stores records of the driver's own. The same name must mean the same records.
	Put(ctx context.Context, name string, records []Record) (Table, error)
	// Read gives all records of a table, in ascending order of keys, for one key in the order of [Compare].
	Read(ctx context.Context, t Table) iter.Seq2[Record, error]
	// Drop removes a table that no later stage reads. A table that was dropped is made again when a run is
	// repeated, if it is read.
	Drop(ctx context.Context, t Table) error
}

// Hopper is an engine with a shorter way for a hop than [Hop]'s two stages, to the same records.
type Hopper interface {
	Hop(ctx context.Context, scatter, gather Spec, tiles Table, vectors, gathering []Table) ([]Table, error)
}

// Hop sends vectors of nodes along edges and adds up what arrives. Stage scatter, for each block of sources, reads the
// tiles of its edges (tag 0) and the tables for its vectors (tags from 1), and writes messages to blocks of
// destinations; stage gather reads these (tag 0) and tables of the destinations (tags from 1).
func Hop(ctx context.Context, e Engine, scatter, gather Spec, tiles Table,
	vectors, gathering []Table) ([]Table, error) {
	if h, ok := e.(Hopper); ok {
		return h.Hop(ctx, scatter, gather, tiles, vectors, gathering)
	}
	messages, err := e.Run(ctx, scatter, append([]Table{tiles}, vectors...)...)
	if err != nil {
		return nil, err
	}
	out, err := e.Run(ctx, gather, append([]Table{messages[0]}, gathering...)...)
	if err != nil {
		return nil, err
	}
	return out, e.Drop(ctx, messages[0])
}

// Scatterer is the function of a hop's first stage. An engine that keeps all blocks on one machine calls Vectors
// in place of Reduce and hands them to the Gatherer, so that no messages are written.
type Scatterer interface {
	Function
	// Vectors returns the vectors of the nodes of a block. in are the records of the tables from tag 1 on.
	Vectors(key int64, in Records) (*Vectors, error)
}

// Gatherer is the function of a hop's second stage.
type Gatherer interface {
	Function
	// Gather begins the sums of a block. in are the records of the tables from tag 1 on.
	Gather(key int64, in Records) (BlockSums, error)
}

// BlockSums are the sums of a block of destinations. It is used by one goroutine at a time.
type BlockSums interface {
	// Add adds the vectors of the sources of a tile to the sums of their destinations.
	Add(tile []byte, from *Vectors) error
	// Bytes is the memory that the sums take.
	Bytes() int64
	// End writes the results.
	End(out Output) error
}

// Vectors are the vectors of the nodes of a block, as integers of their columns' scales.
type Vectors struct {
	Rows, Cols int
	Units      []int64 // Rows×Cols
}

// Row is the vector of a node.
func (v *Vectors) Row(i int) []int64 { return v.Units[i*v.Cols : (i+1)*v.Cols] }
