package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/schema"
)

// TypesOf returns the type of each node; nil: all are of one.
func (d *Dataset) TypesOf() []string {
	if d.NodeTypes != nil {
		for _, columns := range [][]schema.Column{d.Columns, d.Values} {
			for k := range columns {
				if columns[k].Name == d.NodeTypes.Column {
					return columns[k].Texts
				}
			}
		}
	}
	return nil
}

// TypesOfT returns the type of each node of T, and whether a validation node has it as a neighbour; nil: there is one
// type of nodes.
func (d *Dataset) TypesOfT(o *Original) (types []string, met []bool) {
	of := d.TypesOf()
	if of == nil {
		return nil, nil
	}
	types, met = graph.Pick(of, o.Nodes), make([]bool, len(o.Nodes))
	for _, i := range d.Validation {
		cols, _ := d.Adj.Row(int(i))
		for _, j := range cols {
			if o.Index[j] >= 0 {
				met[o.Index[j]] = true
			}
		}
	}
	return types, met
}

// takeTypes describes the columns of tables of several types. Arrivals are of the types of validation and test nodes.
func (d *Dataset) takeTypes(of map[string]string) {
	if of == nil {
		return
	}
	d.NodeTypes = &schema.Types{Column: table.NodeType, Of: of}
	arriving, all := map[string]bool{}, map[string]int{}
	types := d.TypesOf()
	for _, i := range slices.Concat(d.Validation, d.Test) {
		arriving[types[i]] = true
	}
	for _, name := range types {
		all[name]++
	}
	d.NodeTypes.Arriving = slices.Sorted(maps.Keys(arriving))
	var each []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		each = append(each, fmt.Sprintf("%s (%d)", name, all[name]))
	}
	d.note("Nodes are of %d types: %s; arrivals are of %s.", len(all), strings.Join(each, ", "),
		strings.Join(d.NodeTypes.Arriving, ", "))
}
