package serving

import (
	"rivulet/infer/explain"
	"rivulet/infer/target"
)

// Explainer gives reasons for predictions; nil if answers of the version's task have none.
func (v *Version) Explainer() *explain.Explainer { return v.explainer }

// prepareExplain makes the explainer, and refuses a task whose answers have no reasons if some are wanted.
func (v *Version) prepareExplain(wanted bool) error {
	err := v.info.Task.Require(target.OutputExplain)
	if err == nil {
		v.explainer = explain.New(&v.predictor, v.info.Slots)
		return nil
	}
	if wanted {
		return err
	}
	return nil
}
