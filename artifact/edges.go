package artifact

import (
	"encoding/json"
	"errors"

	"rivulet/graph"
)

// edgesFile says which tables an edge reads ([graph.Slots]): by its weight, or by its type and direction, with a weight
// beside these or none. It is a part of format 2, there unless the graph has one slot in which each edge counts 1. It
// is JSON, as types have names, and comes before models in the order of names, in which files are read: the tables have
// N' rows for each slot.
const edgesFile = "edges.json"

// formerParts are parts of earlier builds that said the same.
var formerParts = []string{"bins.safetensors", "directions.safetensors", "edge_types.json"}

func encodeEdges(s *graph.Slots) ([]byte, error) { return json.MarshalIndent(s, "", "  ") }

func decodeEdges(data []byte) (s graph.Slots, err error) {
	if err = json.Unmarshal(data, &s); err != nil {
		return s, err
	}
	if s.Plain() {
		return s, errors.New("edges have neither weights, types nor directions, want no such file")
	}
	return s, s.Validate()
}

// tableRows is the number of rows that frozen tables have.
func (b *Bundle) tableRows() int { return b.Manifest.SyntheticNodes * b.Slots.Len() }
