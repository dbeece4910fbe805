package dataset

import (
	"fmt"
	"slices"
	"strings"

	"rivulet/infer/target"
)

// candidates reads which nodes a task of links may answer with.
func (b *builder) candidates(d *Dataset) error {
	column, value, some := strings.Cut(b.settings.Candidates, "=")
	if !some {
		d.Labels = make([]int32, len(b.labels))
		return nil
	}
	d.Labels, d.Candidates = make([]int32, len(b.labels)), make([]bool, len(b.labels))
	for i, text := range b.labels {
		if d.Candidates[i] = text == value; text == "" {
			d.Labels[i] = -1
		}
	}
	if !slices.Contains(d.Candidates, true) {
		return fmt.Errorf("column %s: no node has the value %.100q of a candidate", column, value)
	}
	return nil
}

// AsLinks makes a data set of classes one of links: labels are not read, and all nodes of T are candidates. Unlabelled
// nodes have edges to learn from as all others have.
func (d *Dataset) AsLinks() error {
	d.Task, d.Classes, d.Labels = target.Links, nil, make([]int32, d.Nodes())
	return d.checkLinks()
}

// checkLinks refuses edges with types or directions. Nodes of T are all trained on.
func (d *Dataset) checkLinks() error {
	if err := d.Facts().Check(); err != nil {
		return err
	}
	d.Train, d.Unlabelled = slices.Concat(d.Train, d.Unlabelled), nil
	slices.Sort(d.Train)
	if d.Candidates == nil {
		return nil
	}
	inT, all := 0, 0
	for _, is := range d.Candidates {
		if is {
			all++
		}
	}
	for _, i := range d.Train {
		if d.Candidates[i] {
			inT++
		}
	}
	if inT < all {
		d.note("%d of %d candidates are training nodes; no answer has the others.", inT, all)
	}
	return nil
}
