package lake

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"rivulet/dataset"
	"rivulet/graph"
)

// Held are nodes that are held out, with the nodes of T that they have edges to.
type Held struct {
	// Data has the nodes that are held out, and behind them those of T, of which it has ids and edges alone.
	Data     *dataset.Dataset
	Original *dataset.Original // the nodes of T
	Places   []int32           // of their rows, in the tables
	M        *graph.CSR        // their rows of M
}

// ReadHeld reads a directory of nodes that are held out. For each node of T that one of them has an edge to it reads a
// row of tables, and one of M, of N' columns.
func ReadHeld(dir string, f *Facts, files []string, all []*Parts, synthetic int) (*Held, error) {
	s, edges, err := readPart(dir, f)
	if err != nil {
		return nil, err
	}
	switch {
	case len(s.Train)+len(s.Unlabelled) > 0:
		return nil, fmt.Errorf("%s has nodes of T, want nodes that are held out alone", filepath.Join(dir, nodesFile))
	case len(s.Validation) == 0:
		return nil, errors.New("no validation node is among the nodes that are held out")
	}
	places, n := s.places(), len(s.Keys)
	var keys []int64 // of T
	neighbours := make([][]int32, n)
	for _, e := range edges {
		from, known := places[e.from]
		if !known || int(from) >= n {
			return nil, fmt.Errorf("%s: src %d is not held out", filepath.Join(dir, edgesFile), e.from)
		}
		to, known := places[e.to]
		if !known {
			to = int32(n + len(keys))
			places[e.to], keys = to, append(keys, e.to)
		}
		neighbours[from] = append(neighbours[from], to)
	}
	h := &Held{Data: s.Dataset, M: &graph.CSR{Cols: synthetic, RowPtr: []int{0}}}
	var ids []string
	id, m := "", mappingRow{nodes: synthetic}
	if h.Places, err = readParts(files, keys, all, append(m.fields(), field{idColumn, false, text(&id)}), func() error {
		ids = append(ids, id)
		return m.add(h.M)
	}); err != nil {
		return nil, err
	}
	h.M = h.M.Take(h.Places)
	h.attach(neighbours, graph.Pick(ids, h.Places))
	return h, nil
}

// attach puts the nodes of T behind those that are held out.
func (h *Held) attach(neighbours [][]int32, ids []string) {
	d, n, m := h.Data, len(neighbours), len(ids)
	d.Adj = &graph.CSR{Rows: n + m, Cols: n + m, RowPtr: make([]int, n+m+1)}
	for k := range n + m {
		if k < n {
			slices.Sort(neighbours[k])
			d.Adj.ColIdx = append(d.Adj.ColIdx, slices.Compact(neighbours[k])...)
		}
		d.Adj.RowPtr[k+1] = len(d.Adj.ColIdx)
	}
	o := &dataset.Original{Index: slices.Repeat([]int32{-1}, n), IDs: ids, Labels: make([]int32, m),
		X:   graph.Features{Dense: graph.NewDense(0, d.X.Cols())},
		Adj: &graph.CSR{Rows: m, Cols: m, RowPtr: make([]int, m+1)}}
	for k := range m {
		o.Nodes, o.Index = append(o.Nodes, int32(n+k)), append(o.Index, int32(k))
	}
	o.Edges, h.Original = o.Adj, o
}

// Neighbours returns the ids of the neighbours in T of a node, and how many neighbours it has in all.
func (h *Held) Neighbours(node int32) (ids []string, degree int) {
	cols, _ := h.Data.Adj.Row(int(node))
	for _, j := range cols {
		if at := h.Original.Index[j]; at >= 0 {
			ids = append(ids, h.Original.IDs[at])
		}
	}
	return ids, len(cols)
}
