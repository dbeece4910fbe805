package artifact

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"rivulet/graph"
)

// binsFile has the bins of the weights of edges. It is a part of format 2: the tables have N' rows for each bin, which
// an edge reads by its weight.
const binsFile = "bins.safetensors"

// directionsFile says that edges have directions: tables have N' rows for edges from an arrival, and N' for edges to
// it. It is a part of its own, because a reader of bins of weights alone would serve such tables wrongly.
const directionsFile = "directions.safetensors"

// edgeTypesFile says that edges have types, and perhaps directions: tables have N' rows for each relation. It is JSON,
// as types have names. Like the other files of bins it comes before models in the order of names, in which files are
// read: the shapes of tables depend on it.
const edgeTypesFile = "edge_types.json"

// directionNames are the values of its one tensor, by which a reader tells the order of the tables.
var directionNames = []int{0, 1}

func (b *Bundle) directionsFields(f *fields) {
	order := directionNames
	f.ints("directions", "directions of edges whose tables stand one below the other: 0 from an arrival, 1 to it", &order,
		len(directionNames))
	if f.reading() {
		if !slices.Equal(order, directionNames) {
			f.fail("directions are %v, want %v", order, directionNames)
		}
		b.Bins = &graph.Bins{Directed: true}
	}
	if !f.has("arriving", b.Bins != nil && b.Bins.Arriving != 0) {
		return
	}
	only := int(b.Bins.Arriving) - 1
	if f.int("arriving", "the only direction of edges that is read of an arrival", &only); f.reading() {
		if !slices.Contains(directionNames, only) {
			f.fail("arriving is %d, want 0 or 1", only)
		}
		b.Bins.Arriving = uint8(only + 1) // graph.Outgoing or graph.Incoming
	}
}

// edgeTypes is the content of [edgeTypesFile]: the types in the order of their tables, and whether each has a table for
// edges from an arrival and, behind it, one for edges to it; "only" is the only one of these that is read.
type edgeTypes struct {
	Types    []string `json:"types"`
	Directed bool     `json:"directed,omitempty"`
	Only     string   `json:"only,omitempty"`
}

// onlyDirections are the values of edgeTypes.Only, by graph.Bins.Arriving.
var onlyDirections = []string{"", "out", "in"}

func encodeEdgeTypes(b *graph.Bins) ([]byte, error) {
	return json.MarshalIndent(edgeTypes{b.Types, b.Directed, onlyDirections[b.Arriving]}, "", "  ")
}

func decodeEdgeTypes(data []byte) (*graph.Bins, error) {
	var r edgeTypes
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	only := slices.Index(onlyDirections, r.Only)
	if only < 0 || only > 0 && !r.Directed {
		return nil, fmt.Errorf("only is %.20q, want out or in where edges have directions", r.Only)
	}
	b := &graph.Bins{Types: r.Types, Directed: r.Directed, Arriving: uint8(only)}
	return b, b.Validate()
}

// part is the file of the bins.
func part(b *graph.Bins) string {
	switch {
	case len(b.Types) > 0:
		return edgeTypesFile
	case b.Directed:
		return directionsFile
	}
	return binsFile
}

func (b *Bundle) binsFields(f *fields) {
	if f.reading() {
		b.Bins = &graph.Bins{}
	}
	f.floats("upper", "largest weight of an edge in each bin, ascending", &b.Bins.Upper, anyLength)
	f.floats("edges", "weight of an edge for which each bin's tables are made", &b.Bins.Edges, len(b.Bins.Upper))
}

// maxBins bounds the memory of tables: each bin has its own.
const maxBins = 64

func validateBins(b *graph.Bins) error {
	if b.ByRelation() {
		return b.Validate()
	}
	if n := len(b.Upper); n < 1 || n > maxBins || len(b.Edges) != n {
		return fmt.Errorf("%d values of upper and %d of edges, want as many of both, 1 to %d", n, len(b.Edges), maxBins)
	}
	for k := range b.Upper {
		upper, edge := b.Upper[k], b.Edges[k]
		if !(edge > 0 && edge <= upper) || math.IsInf(float64(upper), 0) {
			return fmt.Errorf("bin %d is for edges of %v up to %v, want finite weights above 0", k, edge, upper)
		}
		if k > 0 && (upper <= b.Upper[k-1] || edge <= b.Upper[k-1]) {
			return fmt.Errorf("bin %d is for edges of %v up to %v, where the bin before ends at %v", k, edge, upper,
				b.Upper[k-1])
		}
	}
	return nil
}

// tableRows is the number of rows that frozen tables have.
func (b *Bundle) tableRows() int { return b.Manifest.SyntheticNodes * b.Bins.Len() }
