package dataset

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"rivulet/dataset/graphsaint"
	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/infer/target"
)

// labelSets reads the labels of nodes that may have several: from one column with a list, or from a column of true and
// false for each label.
func (b *builder) labelSets(d *Dataset) error {
	columns := b.settings.Labels()
	sets := make([][]string, len(b.labels))
	for i, text := range b.labels {
		if text == "" {
			continue
		}
		var err error
		if len(columns) > 1 {
			sets[i], err = flagged(columns, strings.Split(text, target.Mark))
		} else if sets[i], err = table.SplitLabels(text, b.settings.LabelMark); err != nil {
			err = fmt.Errorf("column %s: %w", columns[0], err)
		}
		if err != nil {
			return fmt.Errorf("node %.100q: %w", b.ids[i], err)
		}
	}
	if len(columns) == 1 {
		_, columns = numbered(slices.Concat(sets...))
	}
	d.keepLabels(sets, columns)
	return d.checkLabelSets("column " + strings.Join(b.settings.Labels(), ", "))
}

// flagged returns the names of the columns that are true.
func flagged(columns, cells []string) ([]string, error) {
	set := []string{}
	for k, text := range cells {
		switch text {
		case "true", "1":
			set = append(set, columns[k])
		case "false", "0":
		default:
			return nil, fmt.Errorf("column %s: %.40q is not true or false, which a column of one label among several has",
				columns[k], text)
		}
	}
	return set, nil
}

// several reports whether a node has more than one label.
func (d *Dataset) several() bool {
	for i := range d.Targets.Rows {
		n := float32(0)
		for _, v := range d.Targets.Row(i) {
			n += v
		}
		if n > 1 {
			return true
		}
	}
	return false
}

// keepLabels sets the labels of each node by their names; nil: the node is unlabelled.
func (d *Dataset) keepLabels(sets [][]string, names []string) {
	d.Task, d.Classes, d.Labels = target.Labels, names, make([]int32, len(sets))
	d.Targets = graph.NewDense(len(sets), len(names))
	place := map[string]int{}
	for k, name := range names {
		place[name] = k
	}
	for i, set := range sets {
		if set == nil {
			d.Labels[i] = -1
		}
		for _, name := range set {
			d.Targets.Row(i)[place[name]] = 1
		}
	}
}

// checkLabelSets refuses labels that are none: names or ids of the nodes, or true and false of one column.
func (d *Dataset) checkLabelSets(source string) error {
	labelled := 0
	for _, y := range d.Labels {
		labelled += int(y) + 1
	}
	switch n := len(d.Classes); {
	case labelled == 0:
		return fmt.Errorf("%s: no node has labels", source)
	case n == 0:
		return fmt.Errorf("%s: no node has a label", source)
	case labelled >= fewLabelled && 2*n > labelled:
		return fmt.Errorf("%s: too many labels, %d for %d labelled nodes, such as %.40q: they are names or ids of nodes",
			source,
			n, labelled, d.Classes[0])
	case slices.ContainsFunc(d.Classes, func(name string) bool { return strings.Contains(name, target.Mark) }):
		return fmt.Errorf("%s: a label has %q in its name, which stands between labels: %.200q", source, target.Mark,
			d.Classes)
	case labelled > 1 && d.sameLabels():
		return fmt.Errorf("%s: all %d labelled nodes have the same labels, such as %.40q, and there is nothing to learn: "+
			"name the column of the labels (--label)", source, labelled, d.Classes[0])
	case slices.Equal(d.Classes, []string{"false", "true"}):
		return fmt.Errorf("%s: it is true or false, which are two classes: want task classes, or a column for each label",
			source)
	}
	return nil
}

// sameLabels reports whether all labelled nodes have the same set of labels.
func (d *Dataset) sameLabels() bool {
	var first []float32
	for i, y := range d.Labels {
		if y < 0 {
			continue
		}
		if first == nil {
			first = d.Targets.Row(i)
		}
		if !slices.Equal(d.Targets.Row(i), first) {
			return false
		}
	}
	return true
}

// checkTrainedLabels suspects labels that no training node has, or that all have.
func (d *Dataset) checkTrainedLabels() {
	for k, name := range d.Classes {
		n, has := 0, 0
		for _, i := range d.Train {
			if d.Labels[i] >= 0 {
				n, has = n+1, has+int(d.Targets.Row(int(i))[k])
			}
		}
		switch has {
		case 0:
			d.suspect("label %.40q: no training node has it, and it cannot be predicted.", name)
		case n:
			d.suspect("label %.40q: all training nodes have it, and there is nothing to learn.", name)
		}
	}
}

// loadLabels reads class_map.json as labels.
func (d *Dataset) loadLabels(r io.Reader) error {
	sets, names, err := graphsaint.ReadLabels(r, d.Nodes())
	if err != nil {
		return err
	}
	d.keepLabels(sets, names)
	d.note("Nodes have several labels: the task is labels.")
	return d.checkLabelSets("labels")
}
