package mapping

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"weak"

	"rivulet/artifact"
	"rivulet/infer/attach"
)

// Memory is a [Lookup] over an M in memory: from an artifact's directory, read from Redis as a whole, or in a file that
// is mapped into memory ([FromFile]). Its rows have the same bits as the rows that the artifact has in Redis. It is
// safe for concurrent use.
type Memory struct {
	index *index // row of M by id

	asked, unknown atomic.Uint64
}

// memoryOverhead is the memory of a row beyond its id and entries: its share of the buckets, the head of its record,
// and the record's padding (BenchmarkMemory).
const memoryOverhead = 27

func memoryBytes(id string, entries int) int64 { return int64(memoryOverhead + len(id) + 8*entries) }

// FromArtifact returns a lookup of the rows of m, which it copies.
func FromArtifact(m *artifact.Mapping) *Memory {
	if len(m.IDs) != m.Rows.Rows {
		panic(fmt.Sprintf("mapping: %d ids for %d rows of M", len(m.IDs), m.Rows.Rows))
	}
	return &Memory{index: newIndex(m.IDs, m.Rows)}
}

// inUse has the M's in the memory of this process, by their contents. It keeps none of them there.
var inUse struct {
	sync.Mutex
	indexes map[string]weak.Pointer[index]
}

// Shared returns a lookup of the same M, with counts of its own. If the process already has an M of this content in
// memory, as another version or another pipeline does, the lookup uses that one, and m's memory is free. An M without a
// content is not shared.
func (m *Memory) Shared(content string) *Memory {
	if content == "" {
		return m
	}
	inUse.Lock()
	defer inUse.Unlock()
	maps.DeleteFunc(inUse.indexes, func(_ string, x weak.Pointer[index]) bool { return x.Value() == nil })
	if there := inUse.indexes[content].Value(); there != nil {
		return &Memory{index: there}
	}
	if inUse.indexes == nil {
		inUse.indexes = map[string]weak.Pointer[index]{}
	}
	inUse.indexes[content] = weak.Make(m.index)
	return m
}

// Len returns N, the number of ids.
func (m *Memory) Len() int { return m.index.len() }

// Rows implements [Lookup]; it never fails and never waits.
func (m *Memory) Rows(_ context.Context, ids []string, rows []attach.Row) error {
	CheckLengths(ids, rows)
	unknown := m.index.find(ids, rows)
	m.asked.Add(uint64(len(ids)))
	m.unknown.Add(uint64(unknown))
	return nil
}

// Numbers sets numbers[i] to the number of the row of ids[i] in the M that it returns; 0 for an id that is not in T.
// Nothing else is copied for an id.
func (m *Memory) Numbers(ids []string, numbers []uint32) *attach.PackedRows {
	if len(ids) != len(numbers) {
		panic(fmt.Sprintf("mapping: numbers of %d ids looked up into %d", len(ids), len(numbers)))
	}
	unknown := m.index.number(ids, numbers)
	m.asked.Add(uint64(len(ids)))
	m.unknown.Add(uint64(unknown))
	return &m.index.rows
}

// Stats returns the number of ids that were asked for; there are no misses.
func (m *Memory) Stats() CacheStats {
	return CacheStats{Hits: m.asked.Load(), Unknown: m.unknown.Load(), Entries: m.index.len(), Bytes: m.index.bytes}
}

// CheckLengths panics if a caller broke the contract of [Lookup].
func CheckLengths(ids []string, rows []attach.Row) {
	if len(ids) != len(rows) {
		panic(fmt.Sprintf("mapping: %d ids looked up into %d rows", len(ids), len(rows)))
	}
}
