package artifact

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"rivulet/artifact/safetensors"
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

// Strength says how far a synthetic node is from the mean in one feature.
type Strength struct {
	Feature int32   // its position, 0 to d−1
	Weight  float32 // preprocessed value less the mean over S, not 0; negative if the node has less of it
}

// HasMap reports whether the artifact of a completed manifest has a map.
func (m *Manifest) HasMap() bool {
	_, ok := m.Files[mapFile]
	return ok
}

func mapTensors(m *Map) []safetensors.Tensor {
	at, positions, weights := []int{0}, []int32{}, []float32{}
	for _, list := range m.Features {
		for _, s := range list {
			positions, weights = append(positions, s.Feature), append(weights, s.Weight)
		}
		at = append(at, len(positions))
	}
	tensors := []safetensors.Tensor{
		safetensors.Dense("xy", "N'×2, places of the synthetic nodes", m.XY),
		safetensors.Float32s("mass", "N', column sums of M", m.Mass, len(m.Mass)),
		safetensors.Dense("shares", "N'×C, classes of the labelled nodes behind them", m.Shares),
		safetensors.Int64s("features.indptr", "N'+1, where the strongest features of each begin", at),
		safetensors.Int32s("features.indices", "positions of the strongest features", positions),
		safetensors.Float32s("features.data", "how far from the mean over S", weights, len(weights)),
	}
	if m.Heaviest == nil {
		return tensors
	}
	at, entries, ends, ids := []int{0}, []float32{}, []int{0}, []byte{}
	for _, list := range m.Heaviest {
		for _, h := range list {
			entries, ids = append(entries, h.Weight), append(ids, h.ID...)
			ends = append(ends, len(ids))
		}
		at = append(at, len(entries))
	}
	return append(tensors, safetensors.Int64s("heaviest.indptr", "N'+1, where the heaviest nodes of each begin", at),
		safetensors.Float32s("heaviest.data", "their entries of M", entries, len(entries)),
		safetensors.Int64s("ids.offsets", "id k of the heaviest is ids.bytes[offsets[k]:offsets[k+1]]", ends),
		safetensors.Tensor{Name: "ids.bytes", DType: safetensors.U8, Shape: []int{len(ids)},
			About: "the ids of the heaviest nodes, UTF-8, one after another", Data: ids})
}

// decodeMap reads the map of n synthetic nodes and so many classes.
func decodeMap(s safetensors.Set, n, classes int) (*Map, error) {
	m := &Map{Features: make([][]Strength, n)}
	var err error
	if m.XY, err = s.Dense("xy", n, 2); err != nil {
		return nil, err
	}
	if m.Mass, err = s.Float32s("mass", n); err != nil {
		return nil, err
	}
	if m.Shares, err = s.Dense("shares", n, classes); err != nil {
		return nil, err
	}
	positions, err := s.Int32s("features.indices", safetensors.AnyLength)
	if err != nil {
		return nil, err
	}
	weights, err := s.Float32s("features.data", len(positions))
	if err != nil {
		return nil, err
	}
	at, err := s.Lists("features.indptr", n, len(positions))
	if err != nil {
		return nil, err
	}
	for i := range n {
		for k := at[i]; k < at[i+1]; k++ {
			m.Features[i] = append(m.Features[i], Strength{positions[k], weights[k]})
		}
	}
	if _, there := s["heaviest.indptr"]; there {
		m.Heaviest, err = decodeHeaviest(s, n)
	}
	return m, err
}

func decodeHeaviest(s safetensors.Set, n int) ([][]Heavy, error) {
	weights, err := s.Float32s("heaviest.data", safetensors.AnyLength)
	if err != nil {
		return nil, err
	}
	at, err := s.Lists("heaviest.indptr", n, len(weights))
	if err != nil {
		return nil, err
	}
	ids, err := decodeIDs(s, len(weights))
	if err != nil {
		return nil, err
	}
	out := make([][]Heavy, n)
	for i := range n {
		for k := at[i]; k < at[i+1]; k++ {
			out[i] = append(out[i], Heavy{ids[k], weights[k]})
		}
	}
	return out, nil
}

// validate checks the map of an artifact with n synthetic nodes, d features and so many classes.
func (m *Map) validate(n, d, classes int) error {
	if err := validateDense(m.XY, n, 2); err != nil {
		return fmt.Errorf("xy: %w", err)
	}
	for k, v := range m.XY.Data {
		if v < -1 || v > 1 {
			return fmt.Errorf("xy: row %d, column %d is %v, want -1 to 1", k/2, k%2, v)
		}
	}
	if err := validateScales(m.Mass, n); err != nil {
		return fmt.Errorf("mass: %w", err)
	}
	if err := m.validateShares(n, classes); err != nil {
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

func (m *Map) validateShares(n, classes int) error {
	if err := validateDense(m.Shares, n, classes); err != nil {
		return err
	}
	for i := range n {
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
