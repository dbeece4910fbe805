package condense

import "fmt"

// Budget divides the given number of synthetic nodes over the classes in proportion to the labelled nodes of each,
// by largest remainders: at least 1 for a class that has labelled nodes, never more than it has. Labels are −1 if
// unknown. The error names the number that is out of range and its bounds.
func Budget(labels []int32, classes, nodes int) ([]int, error) {
	count := make([]int, classes)
	labelled, present := 0, 0
	for _, y := range labels {
		if y < 0 {
			continue
		}
		if count[y] == 0 {
			present++
		}
		count[y]++
		labelled++
	}
	if labelled == 0 || nodes < present || nodes > labelled {
		return nil, fmt.Errorf("nodes is %d, want at least %d (one for each class) and at most %d (the labelled nodes)",
			nodes, present, labelled)
	}
	share, due := make([]int, classes), make([]float64, classes)
	given := 0
	for c, n := range count {
		due[c] = float64(nodes) * float64(n) / float64(labelled)
		share[c] = max(int(due[c]), min(1, n))
		given += share[c]
	}
	for ; given < nodes; given++ {
		share[furthest(due, share, func(c int) bool { return share[c] < count[c] }, 1)]++
	}
	for ; given > nodes; given-- { // the guaranteed ones were too many
		share[furthest(due, share, func(c int) bool { return share[c] > 1 }, -1)]--
	}
	return share, nil
}

// furthest returns the class whose share is furthest below (sign 1) or above (sign −1) its due, among the classes that
// may change; of equals the first.
func furthest(due []float64, share []int, may func(c int) bool, sign float64) int {
	at, most := -1, 0.0
	for c := range due {
		if gap := sign * (due[c] - float64(share[c])); may(c) && (at < 0 || gap > most) {
			at, most = c, gap
		}
	}
	return at
}
