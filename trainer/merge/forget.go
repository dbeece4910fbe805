package merge

import (
	"rivulet/dataset"
	"rivulet/internal/spill"
)

// forgetMark stands where a record of an arrival has the number of dropped entries, and says that the id is forgotten.
const forgetMark = -1

// beforeArrivals is the row of edges that the graph has already.
const beforeArrivals = -1

// Forget takes an id that is to be forgotten: the node of the graph, whatever its role, and the arrivals with the id so
// far. An error is the disk's.
func (m *Merger) Forget(id string) error {
	m.Report.Forgets++
	m.forgotten[id] = m.arrivals.Records()
	delete(m.settled, id)
	var r spill.Record
	return m.arrivals.Put(0, r.Text(id).Number(forgetMark).Number(0))
}

// forgets reports, and counts, whether an edge names an id that was forgotten after the row of arrivals that brought
// the edge. A later arrival with the id is another node.
func (m *Merger) forgets(source, target string, row int64) bool {
	if len(m.forgotten) == 0 {
		return false
	}
	for _, id := range [...]string{source, target} {
		if at, gone := m.forgotten[id]; gone && row < at {
			m.Report.RemovedEdges++
			return true
		}
	}
	return false
}

// withoutForgotten returns a data set without the forgotten ones among its first nodes, which are the old graph's.
func (m *Merger) withoutForgotten(d *dataset.Dataset, old int) *dataset.Dataset {
	if len(m.forgotten) == 0 {
		return d
	}
	left := make([]int32, 0, len(d.IDs))
	for i, id := range d.IDs {
		if _, gone := m.forgotten[id]; !gone || i >= old {
			left = append(left, int32(i))
		}
	}
	without := d.Renumbered(left)
	m.Report.RemovedEdges += (d.Adj.NNZ() - without.Adj.NNZ()) / 2
	return without
}
