package artifact

import (
	"errors"
	"fmt"

	"rivulet/artifact/safetensors"
	"rivulet/graph"
)

// Spread has what S alone teaches an SGC by (docs/algorithm.md, section 5, steps 7 and 8): for fits outside of the
// trainer, such as with PyTorch. A consumer does not read it.
type Spread struct {
	Means   *graph.Dense // μ, N'×d: means of the propagated features of the labelled nodes of each cluster
	Weights []float32    // N': how many they are
	Factor  *graph.Dense // V, r×d
	Rest    []float32    // s, d
	// Rank is the number of directions of V that validation chose for the fit with the spread, the rest then counts among
	// s; 0: a fit on the means alone was better. Decay is its weight decay.
	Rank  int
	Decay float32
	// Soft (Y', N'×C) and SoftSpread (Γ, at most r×C) are the soft labels of the means and of the first directions,
	// SoftDecay the weight decay that they are for.
	Soft, SoftSpread *graph.Dense
	SoftDecay        float32
}

// spreadFile is optional; readers that do not know it ignore it.
const spreadFile = "spread.safetensors"

// HasSpread reports whether the artifact of a completed manifest has a spread, which [ReadSpread] reads.
func (m *Manifest) HasSpread() bool {
	_, ok := m.Files[spreadFile]
	return ok
}

// ReadSpread reads and checks the spread of the artifact in a directory, and nothing else but the manifest. An artifact
// without one is an error.
func ReadSpread(dir string) (*Spread, error) {
	b, err := readOptional(dir, spreadFile)
	if err != nil {
		return nil, err
	}
	return b.Spread, nil
}

func spreadTensors(s *Spread) []safetensors.Tensor {
	return []safetensors.Tensor{
		safetensors.Dense("means", "μ, N'×d, means of the propagated features of labelled nodes", s.Means),
		safetensors.Float32s("weights", "N', numbers of these nodes", s.Weights, len(s.Weights)),
		safetensors.Dense("factor", "V, r×d, principal directions around the means", s.Factor),
		safetensors.Float32s("rest", "s, d, variances that V leaves", s.Rest, len(s.Rest)),
		safetensors.Int64s("rank", "directions of the fit with the spread", []int{s.Rank}),
		safetensors.Float32s("decay", "weight decay of the fit with the spread", []float32{s.Decay}, 1),
		safetensors.Dense("labels.means", "Y', N'×C, soft labels of the means", s.Soft),
		safetensors.Dense("labels.factor", "Γ, soft labels of the first directions", s.SoftSpread),
		safetensors.Float32s("labels.decay", "weight decay of the fit to soft labels", []float32{s.SoftDecay}, 1),
	}
}

func decodeSpread(set safetensors.Set, n, d, classes int) (s *Spread, err error) {
	s = &Spread{}
	for _, m := range []struct {
		name          string
		to            **graph.Dense
		rows, columns int
	}{{"means", &s.Means, n, d}, {"factor", &s.Factor, safetensors.AnyLength, d}, {"labels.means", &s.Soft, n, classes},
		{"labels.factor", &s.SoftSpread, safetensors.AnyLength, classes}} {
		if *m.to, err = set.Dense(m.name, m.rows, m.columns); err != nil {
			return nil, err
		}
	}
	var decay, softDecay []float32
	for _, v := range []struct {
		name   string
		to     *[]float32
		length int
	}{{"weights", &s.Weights, n}, {"rest", &s.Rest, d}, {"decay", &decay, 1}, {"labels.decay", &softDecay, 1}} {
		if *v.to, err = set.Float32s(v.name, v.length); err != nil {
			return nil, err
		}
	}
	rank, err := set.Ints("rank", 1)
	if err != nil {
		return nil, err
	}
	s.Rank, s.Decay, s.SoftDecay = rank[0], decay[0], softDecay[0]
	return s, nil
}

func (s *Spread) validate(n, d, classes int) error {
	for _, of := range []struct {
		name          string
		value         *graph.Dense
		rows, columns int
	}{{"means", s.Means, n, d}, {"factor", s.Factor, s.Factor.Rows, d}, {"labels.means", s.Soft, n, classes},
		{"labels.factor", s.SoftSpread, s.SoftSpread.Rows, classes}} {
		if err := validateDense(of.value, of.rows, of.columns); err != nil {
			return fmt.Errorf("%s: %w", of.name, err)
		}
	}
	if err := validateScales(s.Weights, n); err != nil {
		return fmt.Errorf("weights: %w", err)
	}
	if err := validateScales(s.Rest, d); err != nil {
		return fmt.Errorf("rest: %w", err)
	}
	switch {
	case s.Rank < 0 || s.Rank > s.Factor.Rows:
		return fmt.Errorf("rank is %d, want at most the %d rows of factor", s.Rank, s.Factor.Rows)
	case s.SoftSpread.Rows > s.Factor.Rows:
		return fmt.Errorf("labels.factor has %d rows, want at most the %d of factor", s.SoftSpread.Rows, s.Factor.Rows)
	case !(s.Decay >= 0) || !(s.SoftDecay >= 0):
		return errors.New("decay and labels.decay: want 0 or more")
	}
	return nil
}
