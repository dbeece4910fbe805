package mapping

import (
	"context"
	"fmt"
	"sync/atomic"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
)

// Memory is a [Lookup] over an M that is in memory: of an artifact's directory, or read whole from Redis.
// Its rows are the bits that a store of the same artifact gives. It is safe for concurrent use.
type Memory struct {
	index map[string]int32 // row of M by id
	rows  *graph.CSR
	ones  []float32 // values of the longest row, where rows has none
	bytes int64     // about what it takes

	asked, unknown atomic.Uint64
}

// memoryOverhead is what a row takes beyond its id and entries: the id's header and place in the map, and the row's
// pointer (BenchmarkMemorySize).
const memoryOverhead = 72

func memoryBytes(id string, entries int) int64 { return int64(memoryOverhead + len(id) + 8*entries) }

// FromArtifact looks up rows of m, which the result keeps and reads.
func FromArtifact(m *artifact.Mapping) *Memory {
	if len(m.IDs) != m.Rows.Rows {
		panic(fmt.Sprintf("mapping: %d ids for %d rows of M", len(m.IDs), m.Rows.Rows))
	}
	memory := &Memory{index: make(map[string]int32, len(m.IDs)), rows: m.Rows}
	longest := 0
	for i, id := range m.IDs {
		memory.index[id] = int32(i)
		memory.bytes += memoryBytes(id, m.Rows.RowLen(i))
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
	unknown := uint64(0)
	for i, id := range ids {
		at, known := m.index[id]
		if !known {
			rows[i] = infer.Row{}
			unknown++
			continue
		}
		rows[i] = m.row(int(at))
	}
	m.asked.Add(uint64(len(ids)))
	m.unknown.Add(unknown)
	return nil
}

// Stats counts what was asked for; nothing is ever missed.
func (m *Memory) Stats() CacheStats {
	return CacheStats{Hits: m.asked.Load(), Unknown: m.unknown.Load(), Entries: len(m.index), Bytes: m.bytes}
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
