package preflight

import (
	"errors"
	"strings"
	"testing"

	"rivulet/dataset"
)

// A trial sends nodes of each role, whatever the form of the features. A sample that no model can be trained on is told
// apart from answers that differ.
func TestSampleSendsNodesOfEachRole(t *testing.T) {
	for name, data := range map[string]func(*testing.T) *dataset.Dataset{"dense": small, "sparse": sparse,
		"named": named} {
		d := data(t)
		if sent, err := Sample(t.Context(), d, options(), standard); err != nil || sent < 3*sampleHeld {
			t.Errorf("%s: %d nodes, error %v", name, sent, err)
		}
		d.IDs[d.Test[0]] = strings.Repeat("x", 200<<10) // is in the sample, and no record has room for it
		if _, err := Sample(t.Context(), d, options(), standard); err == nil || errors.Is(err, ErrNoSample) {
			t.Errorf("%s: an id of 200 KiB: %v", name, err)
		}
		d.IDs[d.Test[0]] = "short"
		train, validation := d.Train, d.Validation
		d.Validation = nil
		if sent, err := Sample(t.Context(), d, options(), standard); err != nil || sent < 2*sampleHeld {
			t.Errorf("%s: without validation nodes: %d nodes, error %v", name, sent, err)
		}
		d.Train, d.Unlabelled, d.Validation = nil, append(d.Unlabelled, train...), validation
		if _, err := Sample(t.Context(), d, options(), standard); !errors.Is(err, ErrNoSample) {
			t.Errorf("%s: without training nodes: %v", name, err)
		}
	}
}
