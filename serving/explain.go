package serving

import (
	"fmt"

	"rivulet/infer"
)

// Explain tells why arrival i of a batch got its class, see [infer.Predictor.Explain].
func (v *Version) Explain(b *infer.Batch, rows [][]infer.Row, i int, logits, probabilities []float32) *infer.Explanation {
	return v.predictor.Explain(b, rows, i, logits, probabilities)
}

// Strongest appends the n strongest reasons, see [infer.Predictor.Strongest]. The version must have been made with
// [Options.Explain].
func (v *Version) Strongest(dst []infer.Reason, n int, b *infer.Batch, rows [][]infer.Row, i, class int,
	logits []float32) ([]infer.Reason, int) {
	return v.predictor.Strongest(dst, n, b, rows, i, class, logits)
}

// FeatureNames returns the names of the features by position, as the schema has them; nil: there is none.
func (v *Version) FeatureNames() []string { return v.names }

// prepareExplain refuses a model whose predictions have no shares.
func (v *Version) prepareExplain(wanted bool) error {
	if wanted && !v.predictor.Shares() {
		return fmt.Errorf("reasons are wanted, and in %s attachment a prediction has no shares: "+
			"serve it frozen, or ask rivulet explain, which removes one thing after the other", v.attachment)
	}
	return nil
}
