package dataset

import (
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"rivulet/dataset/table"
	"rivulet/infer/target"
	"rivulet/internal/durable"
)

// SaveCSV writes the data set as nodes.csv and edges.csv, which [Open] reads: the features as a list of numbers
// in a column features. A bag of words becomes such a list, too, and is read as any other numbers are.
func (d *Dataset) SaveCSV(dir string) error {
	return d.SaveTables(dir, ".csv", d.writeNodes, d.writeEdges)
}

// SaveTables writes a table of nodes and one of edges, and makes them durable. Files that exist are refused.
func (d *Dataset) SaveTables(dir, ext string, nodes, edges func(io.Writer) error) error {
	err := target.SavingTables.Check(d.Facts())
	if err == nil {
		err = create(durable.Disk{}, dir, []newFile{{"nodes" + ext, nodes}, {"edges" + ext, edges}})
	}
	if err != nil {
		return fmt.Errorf("saving tables to %s: %w", dir, err)
	}
	return nil
}

// NodeRows yields the nodes as rows of a table. A row's features are valid until the next.
func (d *Dataset) NodeRows() iter.Seq[table.Node] {
	split := slices.Repeat([]string{"none"}, d.Nodes())
	for role, nodes := range map[string][]int32{"train": d.Train, "val": d.Validation, "test": d.Test,
		"unlabelled": d.Unlabelled} {
		for _, i := range nodes {
			split[i] = role
		}
	}
	return func(yield func(table.Node) bool) {
		x := make([]float32, d.X.Cols())
		for i, id := range d.IDs {
			clear(x)
			d.X.Each(i, func(c int, v float32) { x[c] = v })
			row := table.Node{ID: id, Features: x, Split: split[i]}
			if d.Labels[i] >= 0 {
				row.Label = d.Classes[d.Labels[i]]
			}
			if d.Times != nil {
				row.Time = d.Times[i]
			}
			if !yield(row) {
				return
			}
		}
	}
}

// EdgeRows yields the ids at the ends of each edge, once.
func (d *Dataset) EdgeRows() iter.Seq2[string, string] {
	return func(yield func(source, target string) bool) {
		for i := range d.Adj.Rows {
			cols, _ := d.Adj.Row(i)
			for _, j := range cols {
				if int(j) > i && !yield(d.IDs[i], d.IDs[j]) {
					return
				}
			}
		}
	}
}

func (d *Dataset) writeNodes(w io.Writer) error {
	out := csv.NewWriter(w)
	head := []string{"id", "label", "split", "features", "time"}
	columns := len(head)
	if d.Times == nil {
		columns--
	}
	_ = out.Write(head[:columns]) // Error tells
	var list []byte
	for n := range d.NodeRows() {
		list = list[:0]
		for k, v := range n.Features {
			if k > 0 {
				list = append(list, ' ')
			}
			list = strconv.AppendFloat(list, float64(v), 'g', -1, 32)
		}
		row := []string{n.ID, n.Label, n.Split, string(list), strconv.FormatFloat(n.Time, 'g', -1, 64)}
		_ = out.Write(row[:columns])
	}
	out.Flush()
	return out.Error()
}

func (d *Dataset) writeEdges(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"source", "target"})
	for source, target := range d.EdgeRows() {
		_ = out.Write([]string{source, target})
	}
	out.Flush()
	return out.Error()
}
