package artifact

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"rivulet/graph"
)

// edgesFile says which tables an edge reads ([graph.Slots]): by its weight, or by its type and direction, with a weight
// beside these or none. It is a part of format 2, there unless the graph has one slot in which each edge counts 1. It
// is JSON, as types have names, and comes before models in the order of names, in which files are read: the tables have
// N' rows for each slot. Unknown fields are refused, as with one of them tables could be read otherwise.
const edgesFile = "edges.json"

// formerParts are parts of earlier builds that said the same.
var formerParts = []string{"bins.safetensors", "directions.safetensors", "edge_types.json"}

func encodeEdges(s *graph.Slots) ([]byte, error) { return json.Marshal(s, jsontext.WithIndent("  ")) }

func decodeEdges(data []byte) (s graph.Slots, err error) {
	if err = json.Unmarshal(data, &s, json.RejectUnknownMembers(true)); err != nil {
		return s, err
	}
	if s.Plain() {
		return s, errors.New("edges have neither weights, types nor directions, want no such file")
	}
	return s, validateSlots(&s)
}

// validateSlots checks slots of tables: of weights alone they are bins, where the whole graph has none.
func validateSlots(s *graph.Slots) error {
	if s.Weighted && !s.Relational() && len(s.Upper)+len(s.Edges) == 0 {
		return errors.New("upper is missing, and edges have weights without types and directions: want bins of weights")
	}
	return s.Validate()
}

// tableRows is the number of rows that frozen tables have.
func (b *Bundle) tableRows() int { return b.Manifest.SyntheticNodes * b.Slots.Len() }
