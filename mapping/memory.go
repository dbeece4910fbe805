package mapping

import (
	"context"
	"fmt"
	"sync/atomic"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
)

// Memory is a [Lookup] over an M in memory: from an artifact's directory, or read from Redis as a whole. Its
// rows have the same bits as those of a store of the same artifact. It is safe for concurrent use.
type Memory struct {
	index *index // row of M by id
	rows  *graph.CSR
	ones  []float32 // values of the longest row, if rows has no values
	bytes int64     // approximate memory

	asked, unknown atomic.Uint64
}

// memoryOverhead is the memory of a row beyond its id and entries: its place in the index, 19 to 30 bytes, and
// the row's pointer (BenchmarkMemory).
const memoryOverhead = 38

func memoryBytes(id string, entries int) int64 { return int64(memoryOverhead + len(id) + 8*entries) }

// FromArtifact returns a lookup of the rows of m, which it refers to and reads.
func FromArtifact(m *artifact.Mapping) *Memory {
	if len(m.IDs) != m.Rows.Rows {
		panic(fmt.Sprintf("mapping: %d ids for %d rows of M", len(m.IDs), m.Rows.Rows))
	}
	memory := &Memory{index: newIndex(m.IDs), rows: m.Rows}
	longest := 0
	for i, id := range m.IDs {
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

// Len returns N, the number of ids.
func (m *Memory) Len() int { return m.index.len() }

// Rows implements [Lookup]; it never fails and never waits.
func (m *Memory) Rows(_ context.Context, ids []string, rows []infer.Row) error {
	checkLengths(ids, rows)
	unknown := uint64(0)
	var numbers [4 * together]int32
	for at := 0; at < len(ids); at += len(numbers) {
		part := ids[at:min(at+len(numbers), len(ids))]
		m.index.find(part, numbers[:])
		for i := range part {
			if number := numbers[i]; number >= 0 {
				rows[at+i] = m.row(int(number))
				continue
			}
			rows[at+i] = infer.Row{}
			unknown++
		}
	}
	m.asked.Add(uint64(len(ids)))
	m.unknown.Add(unknown)
	return nil
}

// Stats returns the number of ids that were asked for; there are no misses.
func (m *Memory) Stats() CacheStats {
	return CacheStats{Hits: m.asked.Load(), Unknown: m.unknown.Load(), Entries: m.index.len(), Bytes: m.bytes}
}

// row returns row i of M as a lookup does: an empty row has nil slices, like a decoded one.
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

// checkLengths panics if a caller broke the contract of [Lookup].
func checkLengths(ids []string, rows []infer.Row) {
	if len(ids) != len(rows) {
		panic(fmt.Sprintf("mapping: %d ids looked up into %d rows", len(ids), len(rows)))
	}
}
