package stage

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
