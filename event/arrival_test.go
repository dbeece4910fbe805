package event

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestArrivalCheck(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	dense := func(values ...float32) Features { return Features{Values: values} }
	sparse := func(indices []int32, values ...float32) Features {
		return Features{Indices: indices, Values: values, Sparse: true}
	}
	for name, tc := range map[string]struct {
		features Features
		edges    int
		maxEdges int
		reason   string // empty: accepted
		text     string
	}{
		"dense":             {features: dense(1, 2, 3)},
		"sparse":            {features: sparse([]int32{0, 2}, 1, 2)},
		"sparse empty":      {features: sparse(nil)},
		"dense of length 0": {dense(), 0, 0, ReasonFeatureLength, "features: 0 values, the model takes 3"},
		"dense short":       {dense(1, 2), 0, 0, ReasonFeatureLength, "features: 2 values, the model takes 3"},
		"dense long":        {dense(1, 2, 3, 4), 0, 0, ReasonFeatureLength, "features: 4 values, the model takes 3"},
		"dense NaN":         {dense(1, nan, 3), 0, 0, ReasonNotFinite, "features[1]: NaN"},
		"dense infinite":    {dense(1, 2, inf), 0, 0, ReasonNotFinite, "features[2]: -Inf"},
		"index too large": {sparse([]int32{0, 3}, 1, 2), 0, 0, ReasonFeatureLength,
			"features.indices[1]: 3 is outside 0…2"},
		"index negative":    {sparse([]int32{-1}, 1), 0, 0, ReasonFeatureLength, "features.indices[0]: -1 is outside 0…2"},
		"indices unordered": {sparse([]int32{2, 1}, 1, 2), 0, 0, ReasonFeatureLength, "features.indices[1]: 1 after 2"},
		"index twice":       {sparse([]int32{1, 1}, 1, 2), 0, 0, ReasonFeatureLength, "features.indices[1]: 1 after 1"},
		"lengths differ": {sparse([]int32{1, 2}, 1), 0, 0, ReasonFeatureLength,
			"features.values: 1 values for 2 indices"},
		"sparse NaN":           {sparse([]int32{1, 2}, 1, nan), 0, 0, ReasonNotFinite, "features.values[1]: NaN"},
		"edges at the limit":   {features: dense(1, 2, 3), edges: 5, maxEdges: 5},
		"edges over the limit": {dense(1, 2, 3), 6, 5, ReasonTooManyEdges, "edges: 6 edges, at most 5"},
		"no limit of edges":    {features: dense(1, 2, 3), edges: 6},
	} {
		t.Run(name, func(t *testing.T) {
			a := Arrival{ID: "x", Features: tc.features, Edges: make([]string, tc.edges)}
			err := a.Check(3, tc.maxEdges)
			if tc.reason == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var field *FieldError
			if !errors.As(err, &field) || field.Reason != tc.reason || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v, want %s: …%s…", err, tc.reason, tc.text)
			}
		})
	}
}

// The definition: an edge stays unless it is the arrival or repeated.
func TestNormaliseEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few names make repetitions likely; the two lengths cover the scan and the table.
		n := rapid.SampledFrom([]int{0, 1, 5, linearEdges, linearEdges + 1, 4 * linearEdges}).Draw(t, "edges")
		names := rapid.SampledFrom([]int{1, 3, 1000}).Draw(t, "names")
		tail := rapid.SampledFrom([]string{"", "-of-one-tail"}).Draw(t, "tail")
		edges := make([]string, n)
		for i := range edges {
			edges[i] = fmt.Sprint(rapid.IntRange(0, names).Draw(t, "id"), tail)
		}
		a := Arrival{ID: "0" + tail, Edges: slices.Clone(edges)}
		var want []string
		for i, id := range edges {
			if id != a.ID && !slices.Contains(edges[:i], id) {
				want = append(want, id)
			}
		}
		dropped := a.NormaliseEdges()
		if !slices.Equal(a.Edges, want) || dropped != n-len(want) {
			t.Fatalf("%q became %q with %d dropped, want %q", edges, a.Edges, dropped, want)
		}
		for _, id := range a.Edges[len(a.Edges):cap(a.Edges)][:dropped] {
			if id != "" {
				t.Fatalf("the unused tail still holds %q", id)
			}
		}
		if again := a.NormaliseEdges(); again != 0 {
			t.Fatalf("a second time drops %d", again)
		}
	})
}
