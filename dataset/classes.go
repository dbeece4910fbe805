package dataset

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"rivulet/dataset/table"
	"rivulet/infer/preprocess"
)

// fewLabelled is the number of labelled nodes below which the number of classes is not checked.
const fewLabelled = 20

// checkClasses refuses labels that are no classes, with more classes than half of the labelled nodes: names, ids, or
// numbers that a regression would predict. Labels that are hardly classes are suspects.
func (d *Dataset) checkClasses(column string) error {
	labelled := 0
	for _, c := range d.Labels {
		if c >= 0 {
			labelled++
		}
	}
	suspects, err := checkClasses(column, labelled, d.Classes)
	d.Suspects = append(d.Suspects, suspects...)
	if mark := d.unlabelledMark(); mark != "" {
		d.suspect("column %s: %s is read as a class beside the numbers from 0; where it means that a node has none, leave "+
			"its cell empty.", column, mark)
	}
	return err
}

// checkClasses is [Dataset.checkClasses] for given counts and names of classes. It returns the suspects.
func checkClasses(column string, labelled int, names []string) (suspects []string, err error) {
	classes := len(names)
	const ask = "name the column of the class (--label), or write classes into it, such as ranges of the numbers"
	switch fractions := fractions(names); {
	case labelled < fewLabelled || classes == 0:
	case classes == 1:
		return nil, fmt.Errorf("column %s: all %d labelled nodes have the one class %.40q, and there is nothing to learn: %s",
			column, labelled, names[0], ask)
	case 2*classes > labelled:
		return nil, fmt.Errorf("column %s: too many classes, %d for %d labelled nodes, such as %.40q: it is a name, an id "+
			"or a number to predict, and no class: %s", column, classes, labelled, names[0], ask)
	case fractions != "" && classes > 10:
		return nil, fmt.Errorf("column %s: its %d values are numbers with fractions, such as %s, and no classes: %s",
			column, classes, fractions, ask)
	case fractions != "":
		suspects = append(suspects, fmt.Sprintf(
			"column %s: its values are numbers with fractions, such as %s; each is read as a class: %s.",
			column, fractions, ask))
	case 10*classes > labelled:
		suspects = append(suspects, fmt.Sprintf("column %s: too many classes, %d for %d labelled nodes, to be learnt: %s.",
			column, classes, labelled, ask))
	}
	return suspects, nil
}

// unlabelledMark returns the class that is a negative number beside numbers that are not: PyTorch Geometric, DGL and
// OGB write -1 for a node without a class. It is empty where there is none.
func (d *Dataset) unlabelledMark() (mark string) {
	for _, name := range d.Classes {
		n, err := strconv.Atoi(name)
		if err != nil || n < 0 && mark != "" {
			return ""
		}
		if n < 0 {
			mark = name
		}
	}
	if len(d.Classes) < 3 { // -1 and 1 are two classes
		return ""
	}
	return mark
}

// fractions returns the first class that is a number with a fraction, if all classes are numbers; else nothing.
func fractions(names []string) (first string) {
	for _, name := range names {
		if _, err := strconv.ParseFloat(name, 64); err != nil {
			return ""
		}
		if first == "" && strings.Contains(name, ".") {
			first = name
		}
	}
	return first
}

// checkTrained suspects classes that no training node has, or one alone.
func (d *Dataset) checkTrained() {
	if len(d.Train) < fewLabelled {
		return
	}
	has := make([]int, len(d.Classes))
	for _, i := range d.Train {
		if d.Labels[i] >= 0 {
			has[d.Labels[i]]++
		}
	}
	for c, n := range has {
		switch n {
		case 0:
			d.suspect("class %.40q has no training node, and cannot be predicted.", d.Classes[c])
		case 1:
			d.suspect("class %.40q has one training node, and is told by this node alone: leave the class out, or join it with "+
				"another.", d.Classes[c])
		}
	}
}

func (d *Dataset) suspect(format string, args ...any) {
	d.Suspects = append(d.Suspects, fmt.Sprintf(format, args...))
}

// checkMagnitude refuses a feature that a consumer refuses.
func checkMagnitude(v float64) error {
	if err := preprocess.CheckMagnitude(v); err != nil {
		return fmt.Errorf("it is %w, or a consumer refuses them: write it in another unit, such as seconds for nanoseconds",
			err)
	}
	return nil
}

// checkMagnitudes refuses columns with numbers that a consumer refuses.
func (d *Dataset) checkMagnitudes() error {
	for k := range d.Columns {
		c := &d.Columns[k]
		for i, v := range c.Numbers {
			if c.Missing != nil && c.Missing[i] {
				continue
			}
			if err := checkMagnitude(v); err != nil {
				return fmt.Errorf("column %s: %w", c.Name, err)
			}
		}
	}
	return nil
}

// leastNormal is the smallest normal float32. Below it numbers lose their digits, and 1/v overflows.
const leastNormal = 0x1p-126

// checkDegrees refuses weights of edges whose sum at a node, its degree, is no number that models can divide by. Such
// weights usually stand for none: C programs write FLT_MAX.
func (d *Dataset) checkDegrees() error {
	if d.Adj.Val == nil {
		return nil
	}
	for i := range d.Adj.Rows {
		_, weights := d.Adj.Row(i)
		sum := 0.0
		for _, w := range weights {
			sum += float64(w)
		}
		if sum <= math.MaxFloat32 && (sum >= leastNormal || len(weights) == 0) {
			continue
		}
		name := fmt.Sprint(i)
		if d.IDs != nil {
			name = d.IDs[i]
		}
		return fmt.Errorf("the weights of the edges of node %.100q sum to %g, want %.3g to %.3g: are they weights, or do "+
			"they stand for none? --drop-weights reads each as 1", name, sum, leastNormal, math.MaxFloat32)
	}
	return nil
}

// numbered returns the classes of names, in the order of [table.Order], and each node's class, -1 for an empty name.
func numbered(names []string) (labels []int32, classes []string) {
	index := map[string]int32{}
	for _, name := range names {
		if name != "" {
			index[name] = 0
		}
	}
	classes = slices.Collect(maps.Keys(index))
	slices.SortFunc(classes, table.Order(classes))
	for c, name := range classes {
		index[name] = int32(c)
	}
	index[""] = -1
	labels = make([]int32, len(names))
	for i, name := range names {
		labels[i] = index[name]
	}
	return labels, classes
}

// CheckContiguous refuses a class without nodes.
func CheckContiguous(labels []int32, classes int) error {
	if classes == 0 {
		return errors.New("no node has a class")
	}
	counts := make([]int, classes)
	for _, c := range labels {
		if c >= 0 {
			counts[c]++
		}
	}
	if c := slices.Index(counts, 0); c >= 0 {
		return fmt.Errorf("no node has class %d, though classes go up to %d", c, classes-1)
	}
	return nil
}
