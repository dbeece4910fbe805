package mapping

import (
	"context"
	"fmt"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
)

// Memory is a [Lookup] over an M that is in memory, for a consumer that serves an artifact's directory and for predict.
// Its rows are the bits that a store of the same artifact gives. It is safe for concurrent use.
type Memory struct {
	index map[string]int32 // row of M by id
	rows  *graph.CSR
	ones  []float32 // values of the longest row, where rows has none
}

// FromArtifact looks up rows of m, which the result keeps and reads.
func FromArtifact(m *artifact.Mapping) *Memory {
	if len(m.IDs) != m.Rows.Rows {
		panic(fmt.Sprintf("mapping: %d ids for %d rows of M", len(m.IDs), m.Rows.Rows))
	}
	memory := &Memory{index: make(map[string]int32, len(m.IDs)), rows: m.Rows}
	longest := 0
	for i, id := range m.IDs {
		memory.index[id] = int32(i)
		longest = max(longest, m.Rows.RowLen(i))
	}
	if m.Rows.Val == nil {
		memory.ones = make([]float32, longest)
		for k := range memory.ones {
			memory.ones[k] = 1
		}
	}
	return memory
}

// Len is N, the number of ids.
func (m *Memory) Len() int { return len(m.index) }

// Rows implements [Lookup]; it never fails and never waits.
func (m *Memory) Rows(_ context.Context, ids []string, rows []infer.Row) error {
	checkLengths(ids, rows)
	for i, id := range ids {
		at, known := m.index[id]
		if !known {
			rows[i] = infer.Row{}
			continue
		}
		rows[i] = m.row(int(at))
	}
	return nil
}

// row is row i of M as a lookup gives it: an empty row has nil slices, as one that was decoded.
func (m *Memory) row(i int) infer.Row {
	cols, vals := m.rows.Row(i)
	if len(cols) == 0 {
		return infer.Row{Known: true}
	}
	if vals == nil {
		vals = m.ones[:len(cols):len(cols)]
	}
	return infer.Row{Known: true, Cols: cols, Vals: vals}
}

// checkLengths panics where a caller broke the contract of [Lookup].
func checkLengths(ids []string, rows []infer.Row) {
	if len(ids) != len(rows) {
		panic(fmt.Sprintf("mapping: %d ids looked up into %d rows", len(ids), len(rows)))
	}
}
