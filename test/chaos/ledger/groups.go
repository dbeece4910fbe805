package ledger

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
)

// Grouped is a prediction of a graph batch in which some arrival was its neighbour.
type Grouped struct {
	At    Place
	ID    string
	hash  uint64
	whole bool // it read all rows, and has all its edges
}

// Group holds the predictions of one graph batch that had neighbours in it, in the order of their arrivals.
type Group struct {
	Version string
	All     []Grouped
}

// Groups returns up to most graph batches whose predictions can be made again, and how many batches there are. Batches
// of several partitions are left out, because the order of their arrivals is not known, and so are batches with two
// arrivals of one id.
func (l *Ledger) Groups(most int) (groups []Group, of int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(l.grouped)) {
		all := l.grouped[name]
		slices.SortFunc(all, func(a, b Grouped) int { return cmp.Compare(a.At.Offset, b.At.Offset) })
		if len(groups) < most && repeatable(all) {
			groups = append(groups, Group{l.batches[name], all})
		}
	}
	return groups, len(l.grouped)
}

func repeatable(all []Grouped) bool {
	ids := map[string]bool{}
	for _, g := range all {
		if g.At.Partition != all[0].At.Partition || !g.whole || ids[g.ID] {
			return false
		}
		ids[g.ID] = true
	}
	return true
}

// Compare compares a group with says, its version's answers by the arrivals' ids when it is predicted again.
func (l *Ledger) Compare(group Group, says map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range group.All {
		if want := says[g.ID]; maphash.String(l.seed, want) != g.hash {
			l.entry(g.At).different++
			l.violated("%v: version %s does not say in a graph batch: %s", g.At, group.Version, want)
		}
	}
}
