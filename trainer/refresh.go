package trainer

import (
	"fmt"
	"slices"
	"strings"

	"rivulet/artifact"
)

// Inherit returns the options of a run that made an artifact, as far as they are in its manifest: method, models
// (the default first), N', k, the hidden layers and hops, preprocessing, propagation, own features, coverage and seed.
// It is an error if the method, which may be one of more, cannot be run by its name, such as that of an ablation.
func Inherit(m *artifact.Manifest, more []Method) (Options, error) {
	o := Defaults()
	o.Method, o.More = m.Method, more
	if method, known := o.method(); !known || method.Comparison {
		return o, fmt.Errorf("artifact %s was made by method %q, which cannot be run again by its name: want one of %s",
			m.Version, m.Method, strings.Join(Methods(more), ", "))
	}
	o.Nodes, o.Preprocess, o.Seed = m.SyntheticNodes, m.Preprocess.Kind, m.Seed
	if o.Method == MethodSolved && m.Mapping.MaxPerRow > 0 {
		o.Entries = m.Mapping.MaxPerRow
	}
	o.Indicators = m.Mapping.Indicators
	o.Means, o.Spread = m.HasMeans(), m.HasSpread()
	if !m.HasOwn() {
		o.Own = OwnNever
	}
	o.Map, o.MapIDs = m.HasMap(), m.MapIDs || !m.HasMap()
	o.Models, o.Propagate = nil, false
	for _, model := range m.Models {
		o.Propagate = o.Propagate || len(model.Propagation) > 0
		o.Models = append(o.Models, model.Name)
		if model.Hidden > 0 {
			o.Hidden = model.Hidden
		}
		o.Layers, o.Hops = max(o.Layers, model.Layers), max(o.Hops, model.Hops)
		if model.Calibration.Confidence.Coverage > 0 {
			o.Coverage = model.Calibration.Confidence.Coverage
		}
	}
	o.Models = inFront(o.Models, m.DefaultModel)
	return o, o.Validate()
}

// inFront returns names with one of them first, if it is among them.
func inFront(names []string, one string) []string {
	if k := slices.Index(names, one); k > 0 {
		names = slices.Insert(slices.Delete(names, k, k+1), 0, one)
	}
	return names
}
