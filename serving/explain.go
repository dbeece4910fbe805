package serving

import (
	"rivulet/infer/attach"
	"rivulet/infer/explain"
)

// Explain tells why arrival i of a batch got its class, see [explain.Explainer.Explain].
func (v *Version) Explain(b *attach.Batch, rows [][]attach.Row, i int, logits,
	probabilities []float32) *explain.Explanation {
	return v.explainer.Explain(b, rows, i, logits, probabilities)
}

// Strongest appends the n strongest reasons ([explain.Explainer.Strongest]), of a version with [Options.Explain].
func (v *Version) Strongest(dst []explain.Reason, n int, b *attach.Batch, rows [][]attach.Row, i, class int,
	logits []float32) ([]explain.Reason, int) {
	return v.explainer.Strongest(dst, n, b, rows, i, class, logits)
}

// FeatureNames returns the names of the features by position, as the schema has them; nil: there is none.
func (v *Version) FeatureNames() []string { return v.names }

// prepareExplain makes the explainer, and refuses a task whose answers have no reasons if some are wanted.
func (v *Version) prepareExplain(wanted bool) error {
	if err := v.Task().Require("output.explain"); wanted && err != nil {
		return err
	}
	v.explainer = explain.New(&v.predictor, v.Bins())
	return nil
}
