package table

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxLong is the number of rows of a table of features that fit into memory with the rest.
const maxLong = 1 << 28

// LongFeatures are the features of nodes that are not 0, ordered by node and feature.
type LongFeatures struct {
	Names  []string // of the features by their number, in their order
	Rows   []int    // feature k of node i is at a place from Rows[i] to Rows[i+1] of the others
	Number []int32
	Value  []float32
}

// ReadLong reads the features of nodes from a table with a row for each that is not 0: node, feature, and value, which
// is 1 where that column is absent. index gives the nodes' numbers by id. check refuses a value.
func (s *Stream) ReadLong(from Source, index map[string]int32, path string,
	check func(float64) error) (*LongFeatures, error) {
	type entry struct {
		node, feature int32
		value         float32
	}
	var entries []entry
	var names []string
	numbers := map[string]int32{}
	err := s.eachFeature(from, func(node, feature string, value float64) error {
		i, ok := index[node]
		switch {
		case !ok && s.settings.DropUnknown || ok && value == 0:
			return nil
		case !ok:
			return Fault{Dangling, fmt.Errorf("column node: %.100q is not the id of a node", node)}
		case len(entries) == maxLong:
			return fmt.Errorf("more than %d features that are not 0", maxLong)
		}
		k, known := numbers[feature]
		if !known {
			feature = strings.Clone(feature)
			k, names, numbers[feature] = int32(len(names)), append(names, feature), int32(len(names))
		}
		entries = append(entries, entry{i, k, float32(value)})
		return check(value)
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: no node has a feature", path)
	}
	if err != nil {
		return nil, err
	}
	read := slices.Clone(names)
	slices.SortFunc(names, Order(names))
	for k, name := range names {
		numbers[name] = int32(k)
	}
	for k := range entries {
		entries[k].feature = numbers[read[entries[k].feature]]
	}
	slices.SortFunc(entries,
		func(a, b entry) int { return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.feature, b.feature)) })
	x := &LongFeatures{Names: names, Rows: make([]int, len(index)+1)}
	for k, e := range entries {
		if k > 0 && entries[k-1].node == e.node && entries[k-1].feature == e.feature {
			for id, i := range index {
				if i == e.node {
					return nil, fmt.Errorf("%s: node %.100q has the feature %.100q twice", path, id, names[e.feature])
				}
			}
		}
		x.Rows[e.node+1], x.Number, x.Value = k+1, append(x.Number, e.feature), append(x.Value, e.value)
	}
	for i := range len(index) {
		x.Rows[i+1] = max(x.Rows[i+1], x.Rows[i])
	}
	return x, nil
}

// eachFeature calls use with every row of a table of features.
func (s *Stream) eachFeature(from Source, use func(node, feature string, value float64) error) error {
	return from.Each(func(f File) error {
		var columns []int
		for _, name := range []string{"node", "feature", "value"} {
			i, err := find(f.Columns(), "", name, name != "value")
			if err != nil {
				return err
			}
			if i >= 0 {
				columns = append(columns, i)
			}
		}
		id := s.idReader()
		return f.Each(columns, func(cells []Cell, at Place) error {
			node, err := id(&cells[0])
			if err != nil {
				return fmt.Errorf("column node: %w", err)
			}
			feature, err := asWritten(&cells[1], false)
			if err == nil && feature == "" {
				err = errors.New("it is empty")
			}
			if err != nil {
				return fmt.Errorf("column feature: %w", err)
			}
			value := 1.0
			if len(cells) == 3 {
				value, err = cells[2].number(s.settings.Decimal == ",")
			}
			if err != nil {
				return fmt.Errorf("column value: %w", err)
			}
			return s.Faults.Take(use(node, feature, value), at)
		})
	})
}

// idReader reads ids of nodes in another table than the nodes' own.
func (s *Stream) idReader() func(*Cell) (string, error) {
	if s.columns[s.plan.id].numeric() {
		return integer
	}
	return func(c *Cell) (string, error) { return asWritten(c, false) }
}
