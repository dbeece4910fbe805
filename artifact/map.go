package artifact

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"rivulet/graph"
)

// MostListed is the most heaviest nodes, and the most strongest features, that a [Map] has of a synthetic node.
const MostListed = 10

// Map is S as a picture for people, N' points in the plane, each with a legend. Predictions do not use it. Its two
// lists have N' entries, of at most [MostListed] each, the strongest first.
type Map struct {
	// N'×2, places, each coordinate within [-1, 1]; near each other if arrivals read similar numbers of them
	XY   *graph.Dense
	Mass []float32 // N', Σ_j M_ji: how much of M falls on the node, ≥ 0
	// Shares holds, N'×C, the classes of the labelled nodes of T behind a synthetic node, each by its entry of M. A row
	// sums to 1; where no labelled node is behind it, the class Y' has all.
	Shares *graph.Dense
	// Heaviest are the nodes of T with the largest entries of M in the node's column; nil (as a whole) where ids were
	// left out.
	Heaviest [][]Heavy
	// Features are the features in which X' of the node is farthest from its mean over S, weighted by mass.
	Features [][]Strength
}

// Heavy is a node of T behind a synthetic node.
type Heavy struct {
	ID     string
	Weight float32 // its entry of M, > 0
}

// Strength describes how far a synthetic node is from the mean in one feature.
type Strength struct {
	Feature int32   // its position, 0 to d−1
	Weight  float32 // preprocessed value less the mean over S, not 0; negative if the node has less of it
}

// HasMap reports whether the artifact of a completed manifest has a map.
func (m *Manifest) HasMap() bool {
	_, ok := m.Files[mapFile]
	return ok
}

// fields visits the map of n synthetic nodes and so many classes.
func (m *Map) fields(f *fields, n, classes int) {
	f.dense("xy", "N'×2, places of the synthetic nodes", &m.XY, n, 2)
	f.scales("mass", "N', column sums of M", &m.Mass, n)
	f.dense("shares", "N'×C, classes of the labelled nodes behind them", &m.Shares, n, classes)
	lists(f, "features.indptr", "N'+1, where the strongest features of each begin", &m.Features, n, func(all *[]Strength) {
		positions, weights := make([]int32, len(*all)), make([]float32, len(*all))
		for k, s := range *all {
			positions[k], weights[k] = s.Feature, s.Weight
		}
		f.int32s("features.indices", "positions of the strongest features", &positions, anyLength)
		f.floats("features.data", "how far from the mean over S", &weights, len(positions))
		for k := 0; f.reading() && k < len(positions); k++ {
			*all = append(*all, Strength{positions[k], weights[k]})
		}
	})
	if !f.has("heaviest.indptr", m.Heaviest != nil) {
		return
	}
	lists(f, "heaviest.indptr", "N'+1, where the heaviest nodes of each begin", &m.Heaviest, n, func(all *[]Heavy) {
		weights, ids := make([]float32, len(*all)), make([]string, len(*all))
		for k, h := range *all {
			weights[k], ids[k] = h.Weight, h.ID
		}
		f.floats("heaviest.data", "their entries of M", &weights, anyLength)
		f.ids("id k of the heaviest is ids.bytes[offsets[k]:offsets[k+1]]",
			"the ids of the heaviest nodes, UTF-8, one after another", &ids, len(weights))
		for k := 0; f.reading() && k < len(weights); k++ {
			*all = append(*all, Heavy{ids[k], weights[k]})
		}
	})
}

// validate checks the map of an artifact with n synthetic nodes, d features and so many classes.
func (m *Map) validate(n, d, classes int) error {
	if err := checkValues(func(f *fields) { m.fields(f, n, classes) }); err != nil {
		return err
	}
	for k, v := range m.XY.Data {
		if v < -1 || v > 1 {
			return fmt.Errorf("xy: row %d, column %d is %v, want -1 to 1", k/2, k%2, v)
		}
	}
	if err := m.validateShares(); err != nil {
		return fmt.Errorf("shares: %w", err)
	}
	if len(m.Features) != n {
		return fmt.Errorf("features: %d lists, want %d", len(m.Features), n)
	}
	if m.Heaviest != nil && len(m.Heaviest) != n {
		return fmt.Errorf("heaviest: %d lists, want %d", len(m.Heaviest), n)
	}
	for i := range n {
		if err := validateStrengths(m.Features[i], d); err != nil {
			return fmt.Errorf("features: node %d: %w", i, err)
		}
		if m.Heaviest == nil {
			continue
		}
		if err := validateHeaviest(m.Heaviest[i]); err != nil {
			return fmt.Errorf("heaviest: node %d: %w", i, err)
		}
	}
	return nil
}

func (m *Map) validateShares() error {
	for i := range m.Shares.Rows {
		sum := 0.0
		for c, v := range m.Shares.Row(i) {
			if v < 0 {
				return fmt.Errorf("row %d, column %d is %v, want 0 or more", i, c, v)
			}
			sum += float64(v)
		}
		if math.Abs(sum-1) > 1e-4 {
			return fmt.Errorf("row %d sums to %g, want 1", i, sum)
		}
	}
	return nil
}

func validateStrengths(list []Strength, d int) error {
	if len(list) > MostListed {
		return fmt.Errorf("%d entries, want at most %d", len(list), MostListed)
	}
	for k, s := range list {
		switch size := math.Abs(float64(s.Weight)); {
		case s.Feature < 0 || int(s.Feature) >= d:
			return fmt.Errorf("feature is %d, outside 0…%d", s.Feature, d-1)
		case !(size > 0) || math.IsInf(size, 0):
			return fmt.Errorf("weight is %v, want a finite number other than 0", s.Weight)
		case k > 0 && size > math.Abs(float64(list[k-1].Weight)):
			return errors.New("the strongest do not come first")
		}
	}
	return nil
}

func validateHeaviest(list []Heavy) error {
	if len(list) > MostListed {
		return fmt.Errorf("%d entries, want at most %d", len(list), MostListed)
	}
	for k, h := range list {
		switch weight := float64(h.Weight); {
		case h.ID == "" || !utf8.ValidString(h.ID):
			return fmt.Errorf("id is %q, want UTF-8 that is not empty", h.ID)
		case !(weight > 0) || math.IsInf(weight, 0):
			return fmt.Errorf("weight is %v, want a finite number above 0", h.Weight)
		case k > 0 && h.Weight > list[k-1].Weight:
			return errors.New("the heaviest do not come first")
		}
	}
	return nil
}
