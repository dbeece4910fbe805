package dataset

import (
	"errors"
	"math/rand/v2"
	"slices"

	"rivulet/dataset/table"
)

// drawSplit deals the labelled nodes half to train, a quarter to validation and the rest to test, at random. Nodes
// without a label are unlabelled: they belong to the original graph.
func (d *Dataset) drawSplit(seed uint64) error {
	var labelled, candidates []int32
	for i, c := range d.Labels {
		switch {
		case c < 0:
			d.Unlabelled = append(d.Unlabelled, int32(i))
		case d.Candidates != nil && d.Candidates[i]: // they are in T, as no answer has others
			candidates = append(candidates, int32(i))
		default:
			labelled = append(labelled, int32(i))
		}
	}
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(labelled), func(i, j int) { labelled[i], labelled[j] = labelled[j], labelled[i] })
	n := len(labelled)
	d.Train, d.Validation, d.Test = append(candidates, labelled[:n/2]...), labelled[n/2:n/2+n/4:n/2+n/4],
		labelled[n/2+n/4:]
	for _, list := range [][]int32{d.Train, d.Validation, d.Test} {
		slices.Sort(list)
	}
	d.note("The data have no split: it was drawn, 50%% train, 25%% validation, 25%% test, with seed %d.", seed)
	if candidates != nil {
		d.note("All %d candidates are training nodes; the split is of the other nodes.", len(candidates))
	}
	return d.checkRoles()
}

// takeRoles gives the nodes their roles: train, val, test, unlabelled or another word for none.
func (d *Dataset) takeRoles(of []string) error {
	lists := map[string]*[]int32{"train": &d.Train, "val": &d.Validation, "test": &d.Test, "unlabelled": &d.Unlabelled}
	for i, role := range of {
		if list := lists[role]; list != nil {
			*list = append(*list, int32(i))
		}
	}
	return d.checkRoles()
}

// checkRoles refuses a data set without training nodes, and notes what a run does without the other roles.
func (d *Dataset) checkRoles() error {
	if len(d.Train) == 0 {
		return table.Fault{Kind: table.Roleless, Err: errors.New("no node of split train")}
	}
	if len(d.Validation) == 0 {
		d.note("No node of split val: temperatures are 1, and hyperparameters are chosen by a tenth of the training nodes.")
	}
	if len(d.Test) == 0 {
		d.note("No node of split test: nothing is measured.")
	}
	return nil
}
