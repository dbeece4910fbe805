package local

import (
	"maps"
	"slices"
	"sync"

	"rivulet/trainer/stage"
)

// store keeps tables.
type store interface {
	// find returns a finished table.
	find(name string) (stage.Table, bool, error)
	// create begins a table; nobody sees it before it is finished.
	create(name string) (writer, error)
	// keys are a table's keys, ascending.
	keys(name string) ([]int64, error)
	// size is the number of bytes of a key's records.
	size(name string, key int64) (int64, error)
	// load returns the records of a key in any order; none if there are none.
	load(name string, key int64) ([]stage.Record, error)
	remove(name string) error
}

// writer takes records of a table, from several goroutines.
type writer interface {
	write(r stage.Record) error
	// finish makes the table whole.
	finish() (stage.Table, error)
	// abandon discards the written records.
	abandon()
}

// memory is a store of this process's memory.
type memory struct {
	mu     sync.Mutex
	tables map[string]*memoryTable
}

type memoryTable struct {
	of      *memory
	mu      sync.Mutex
	table   stage.Table
	records map[int64][]stage.Record
}

func newMemory() *memory { return &memory{tables: map[string]*memoryTable{}} }

func (m *memory) get(name string) *memoryTable {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tables[name]
}

func (m *memory) find(name string) (stage.Table, bool, error) {
	if h := m.get(name); h != nil {
		return h.table, true, nil
	}
	return stage.Table{}, false, nil
}

func (m *memory) create(name string) (writer, error) {
	return &memoryTable{of: m, table: stage.Table{Name: name}, records: map[int64][]stage.Record{}}, nil
}

func (m *memory) keys(name string) ([]int64, error) {
	return slices.Sorted(maps.Keys(m.get(name).records)), nil
}

func (m *memory) size(name string, key int64) (int64, error) {
	bytes := int64(0)
	for _, r := range m.get(name).records[key] {
		bytes += int64(len(r.Order) + len(r.Payload))
	}
	return bytes, nil
}

func (m *memory) load(name string, key int64) ([]stage.Record, error) {
	return slices.Clone(m.get(name).records[key]), nil
}

func (m *memory) remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tables, name)
	return nil
}

func (h *memoryTable) write(r stage.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.records[r.Key] = append(h.records[r.Key], r)
	h.table.Records++
	h.table.Bytes += int64(len(r.Order) + len(r.Payload))
	return nil
}

func (h *memoryTable) finish() (stage.Table, error) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.tables[h.table.Name] = h
	return h.table, nil
}

func (h *memoryTable) abandon() {}
