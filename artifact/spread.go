package artifact

import (
	"errors"
	"fmt"

	"rivulet/graph"
)

// Spread has the means, spread and soft labels by which S alone teaches an SGC (docs/algorithm.md, section 5, steps 7
// and 8): for fits outside of the trainer, such as with PyTorch. A consumer does not read it.
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

// fields visits the spread of n synthetic nodes, d features and so many classes.
func (s *Spread) fields(f *fields, n, d, classes int) {
	f.dense("means", "μ, N'×d, means of the propagated features of labelled nodes", &s.Means, n, d)
	f.dense("factor", "V, r×d, principal directions around the means", &s.Factor, anyLength, d)
	f.dense("labels.means", "Y', N'×C, soft labels of the means", &s.Soft, n, classes)
	f.dense("labels.factor", "Γ, soft labels of the first directions", &s.SoftSpread, anyLength, classes)
	f.scales("weights", "N', numbers of these nodes", &s.Weights, n)
	f.scales("rest", "s, d, variances that V leaves", &s.Rest, d)
	f.int("rank", "directions of the fit with the spread", &s.Rank)
	f.float("decay", "weight decay of the fit with the spread", &s.Decay)
	f.float("labels.decay", "weight decay of the fit to soft labels", &s.SoftDecay)
}

func (s *Spread) validate(n, d, classes int) error {
	if err := checkValues(func(f *fields) { s.fields(f, n, d, classes) }); err != nil {
		return err
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
