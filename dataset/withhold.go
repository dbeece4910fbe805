package dataset

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Withhold returns the data with a share of the training nodes of each class, at random by seed, in no role: they
// are left out of T with their edges, and can arrive later. One node of each class stays at least.
func (d *Dataset) Withhold(share float64, seed uint64) (*Dataset, error) {
	if !(share >= 0 && share < 1) {
		return nil, fmt.Errorf("the share of training nodes to withhold is %g, want 0 or more, and less than 1", share)
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	shuffled := slices.Clone(d.Train)
	rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	of, met := make([]int, len(d.Classes)), make([]int, len(d.Classes))
	for _, i := range d.Train {
		of[d.Labels[i]]++
	}
	rest := *d
	rest.Train = nil
	for _, i := range shuffled {
		class := d.Labels[i]
		if met[class]++; met[class] == 1 || float64(met[class]) > share*float64(of[class])+1 {
			rest.Train = append(rest.Train, i)
		}
	}
	slices.Sort(rest.Train)
	return &rest, nil
}

// Withheld returns the nodes in no role that have a class, ascending, with the nodes that [Dataset.Withhold] took out.
func (d *Dataset) Withheld() (nodes []int32) {
	hasRole := make([]bool, d.Nodes())
	for _, list := range [][]int32{d.Train, d.Unlabelled, d.Validation, d.Test} {
		for _, i := range list {
			hasRole[i] = true
		}
	}
	for i, has := range hasRole {
		if !has && d.Labels[i] >= 0 {
			nodes = append(nodes, int32(i))
		}
	}
	return nodes
}
