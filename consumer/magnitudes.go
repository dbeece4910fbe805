package consumer

import (
	"fmt"

	"rivulet/event"
	"rivulet/infer/preprocess"
)

// CheckMagnitudes refuses features beyond [preprocess.MaxFeature], and names the first.
func CheckMagnitudes(f *event.Features) *event.FieldError {
	for k, v := range f.Values {
		// a test without a call, enough for all but one value in a million
		if v >= -preprocess.MaxFeature && v <= preprocess.MaxFeature {
			continue
		}
		field := fmt.Sprintf("features[%d]", k)
		if f.Sparse {
			field = fmt.Sprintf("features.values[%d]", k)
		}
		return &event.FieldError{Reason: event.ReasonNotFinite, Field: field, Detail: preprocess.CheckMagnitude(v).Error()}
	}
	return nil
}
