package baseline

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
)

// Reference describes the arrivals at training: figures of the validation nodes, each on its own (node batches) and
// attached as the artifact serves. A consumer compares its stream with them. The zero value means that nothing was
// measured.
type Reference struct {
	Nodes int `json:"nodes"` // validation nodes
	// UnknownNeighbours is the share of all their neighbours that are not in T, 0 to 1; 0 if they have none.
	UnknownNeighbours float64 `json:"unknown_neighbours"`
	// FeatureNorm is the distribution of the L2 norms of their raw features, FeatureCount of their numbers of non-zero
	// features.
	FeatureNorm  Histogram `json:"feature_norm"`
	FeatureCount Histogram `json:"feature_count"`
	// Named holds the distributions of the features by name, as schema.Schema.Measure sums them up; nil without a schema.
	Named map[string]Histogram `json:"named,omitempty"`
	// Models holds the figures of each model's predictions for them, by name, with the calibration that the artifact
	// publishes by default.
	Models map[string]ModelReference `json:"models"`
}

// ModelReference holds the figures of a model's predictions for the validation nodes.
type ModelReference struct {
	Accuracy   float64   `json:"accuracy"`   // percent
	Confidence float64   `json:"confidence"` // mean probability of the predicted class, 0 to 1
	Classes    []float64 `json:"classes"`    // share of each class among the predictions, C of them
}

// Histogram is a distribution in bins: bin k holds the values v with Bounds[k-1] < v ≤ Bounds[k], the first holds
// all up to Bounds[0] and the last all beyond the last bound.
type Histogram struct {
	Bounds []float64 `json:"bounds"` // ascending
	Shares []float64 `json:"shares"` // one more than bounds; they sum to 1
}

// deciles is the number of bins that [NewHistogram] uses within the range of the values.
const deciles = 10

// NewHistogram returns the histogram of one or more values: a bin below the least of them, up to ten bins of about
// equal shares, and one above the greatest. The order of values does not matter.
func NewHistogram(values []float64) Histogram {
	sorted := slices.Sorted(slices.Values(values))
	h := Histogram{Bounds: []float64{math.Nextafter(sorted[0], math.Inf(-1))}}
	for q := 1; q <= deciles; q++ {
		if bound := sorted[(q*len(sorted)-1)/deciles]; bound > h.Bounds[len(h.Bounds)-1] {
			h.Bounds = append(h.Bounds, bound)
		}
	}
	h.Shares = make([]float64, len(h.Bounds)+1)
	for _, v := range sorted {
		h.Shares[h.Bin(v)] += 1 / float64(len(sorted))
	}
	return h
}

// Bin returns the index of the bin of a value.
func (h Histogram) Bin(v float64) int { return sort.SearchFloat64s(h.Bounds, v) }

// TotalVariation returns the distance ½ Σ|p−q| of two distributions over the same bins, 0 to 1: the largest
// difference that any set of bins has in probability. counts need not sum to 1; without any the distance is 0.
func TotalVariation(reference []float64, counts []int) float64 {
	total, sum := 0, 0.0
	for _, n := range counts {
		total += n
	}
	if total == 0 {
		return 0
	}
	for k, p := range reference {
		sum += math.Abs(p - float64(counts[k])/float64(total))
	}
	return min(1, sum/2)
}

// isZero reports whether nothing was measured.
func (r *Reference) isZero() bool {
	return r.Nodes == 0 && r.UnknownNeighbours == 0 && r.Models == nil && r.Named == nil && r.FeatureNorm.Shares == nil &&
		r.FeatureCount.Shares == nil &&
		r.FeatureNorm.Bounds == nil && r.FeatureCount.Bounds == nil
}

// Validate checks the figures of models with these names and a number of classes.
func (r *Reference) Validate(models []string, classes int) error {
	switch {
	case r.isZero():
		return nil
	case r.Nodes < 1 || r.Nodes > math.MaxInt32:
		return fmt.Errorf("nodes is %d, want 1 to %d", r.Nodes, math.MaxInt32)
	case !(r.UnknownNeighbours >= 0 && r.UnknownNeighbours <= 1):
		return fmt.Errorf("unknown_neighbours is %v, want 0 to 1", r.UnknownNeighbours)
	}
	if err := r.FeatureNorm.validate(); err != nil {
		return fmt.Errorf("feature_norm.%w", err)
	}
	if err := r.FeatureCount.validate(); err != nil {
		return fmt.Errorf("feature_count.%w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Named)) {
		h := r.Named[name]
		if err := h.validate(); err != nil {
			return fmt.Errorf("named.%s.%w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Models)) {
		if !slices.Contains(models, name) {
			return fmt.Errorf("models has %q, which is not one of the artifact's models", name)
		}
		of := r.Models[name]
		if err := of.validate(classes); err != nil {
			return fmt.Errorf("models.%s.%w", name, err)
		}
	}
	return nil
}

func (m *ModelReference) validate(classes int) error {
	switch {
	case !(m.Accuracy >= 0 && m.Accuracy <= 100):
		return fmt.Errorf("accuracy is %v, want 0 to 100", m.Accuracy)
	case !(m.Confidence >= 0 && m.Confidence <= 1):
		return fmt.Errorf("confidence is %v, want 0 to 1", m.Confidence)
	case len(m.Classes) != classes:
		return fmt.Errorf("classes has %d values, want %d", len(m.Classes), classes)
	}
	if err := validateShares(m.Classes); err != nil {
		return fmt.Errorf("classes%w", err)
	}
	return nil
}

func (h *Histogram) validate() error {
	if len(h.Bounds) == 0 {
		return errors.New("bounds is empty")
	}
	for k, b := range h.Bounds {
		if math.IsNaN(b) || math.IsInf(b, 0) {
			return fmt.Errorf("bounds[%d] is %v, want a finite number", k, b)
		}
		if k > 0 && b <= h.Bounds[k-1] {
			return fmt.Errorf("bounds[%d] is %v after %v, want them to ascend", k, b, h.Bounds[k-1])
		}
	}
	if len(h.Shares) != len(h.Bounds)+1 {
		return fmt.Errorf("shares has %d values for %d bounds, want one more", len(h.Shares), len(h.Bounds))
	}
	if err := validateShares(h.Shares); err != nil {
		return fmt.Errorf("shares%w", err)
	}
	return nil
}

// validateShares checks shares that sum to 1 except for rounding.
func validateShares(shares []float64) error {
	const tolerance = 1e-6
	sum := 0.0
	for k, p := range shares {
		if !(p >= 0 && p <= 1+tolerance) {
			return fmt.Errorf("[%d] is %v, want 0 to 1", k, p)
		}
		sum += p
	}
	if math.Abs(sum-1) > tolerance {
		return fmt.Errorf(" sum to %v, want 1", sum)
	}
	return nil
}
