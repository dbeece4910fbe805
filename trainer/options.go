package trainer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/target"
	"rivulet/schema"
	"rivulet/trainer/deploy"
	"rivulet/trainer/features"
)

// modelSGC is the relay of method learned, and the default model.
const modelSGC = "sgc"

// Options of a training run.
type Options struct {
	// Method is the method of condensation, one of [Methods] with More: methods beside those of this package.
	Method string
	More   []Method
	// Nodes is the number of synthetic nodes N'. 0: Ratio decides.
	Nodes int
	// Ratio is N'/N, 0 < ratio < 1. 0: a hundredth of the nodes, but ten a class and type of edges if labels allow it.
	Ratio float64
	// Preprocess is auto, l1, l2-center, standardize or none.
	Preprocess string
	// Schema are the choices of a schema that is fitted on the columns of a data set which has some.
	Schema schema.FitOptions
	// Keep is a schema to use in place of one that is fitted; nil: none. Features without columns must be of its
	// positions.
	Keep *schema.Schema
	// Models are the architectures to fit, condense and serve through one M; the first is the artifact's default.
	Models []string
	// Choose has validation choose the one of Models to serve. The artifact is that of a run with this model alone.
	Choose bool
	// Hidden is the width of the hidden layers of models that have some; at least 1.
	Hidden int
	// Layers is the number of layers of models that may have more than their fewest; 0: the fewest.
	Layers int
	// Hops is K of models that propagate by hops; 0: each its own default.
	Hops int
	// WeightDecays are the candidates among which validation chooses W_O's for each model, each above 0; empty:
	// [WeightDecays].
	WeightDecays []float64
	// Entries is k, the most entries of a row of M; at least 1.
	Entries int
	// Seed of everything random.
	Seed uint64
	// Batch is the number of nodes of a batch in evaluation.
	Batch int
	// Costs has evaluation measure time and memory of inference, too. It takes about as long as the rest of
	// evaluation.
	Costs bool
	// Keeper says how much memory M takes where it is served, of costs; nil: that is not measured.
	Keeper deploy.Keeper
	// Weights are models to use as W_O, by name, instead of fitting them. They must be for the data's features and
	// classes, and for features with the scale of Preprocess alone: the global scale is 1 then.
	Weights map[string]infer.Model
	// Coverage is the share of arrivals to answer, 0 < coverage ≤ 1: predictions below the probability that this
	// share of the support nodes reaches are marked as abstained. 0: none are.
	Coverage float64
	// Representation adds the tables with which a frozen SGC publishes embeddings: N'×2d numbers.
	Representation bool
	// Propagate has validation try label and error propagation; what is not tried has no tables.
	Propagate bool
	// OfferPropagation keeps the propagations that were tried in the artifact, for consumers that ask for one
	// (predict.calibration), and has none of them served by default.
	OfferPropagation bool
	// Own is auto, always or never: whether a small model of an arrival's own features answers beside the models on S
	// (docs/algorithm.md, section 11).
	Own string
	// Spread fits W_S with the spread of T's nodes around the synthetic ones, too, and to soft labels, judged on S alone;
	// an artifact then has what they were fitted to. For methods with clusters (docs/algorithm.md, section 5).
	Spread bool
	// noValidation says that the data's validation nodes are training nodes, and decayOf has the weight decays that were
	// chosen without them ([Options.unvalidated]).
	noValidation bool
	decayOf      map[string]float64
	fingerprint  string // of the data without validation nodes; empty: that of the data
	// Map adds S in the plane, for people ([artifact.Map]); MapIDs names the heaviest nodes of T in it.
	Map, MapIDs bool
}

// Defaults returns the default options of a run.
func Defaults() Options {
	return Options{Method: MethodSolved, Models: []string{modelSGC}, Hidden: 256, Preprocess: features.Auto,
		Entries: 4, Batch: 1000, Costs: true, Propagate: true, MapIDs: true, Own: OwnAuto}
}

// Validate checks ranges; an error names the option and its value.
func (o Options) Validate() error {
	m, known := o.method()
	switch {
	case !known:
		return fmt.Errorf("method is %q, want one of %s", o.Method, strings.Join(Methods(o.More), ", "))
	case o.Nodes < 0:
		return fmt.Errorf("nodes is %d, want 0 (by ratio) or more", o.Nodes)
	case !(o.Ratio >= 0 && o.Ratio < 1):
		return fmt.Errorf("ratio is %g, want 0 (automatic) or between 0 and 1", o.Ratio)
	case o.Nodes > 0 && o.Ratio > 0:
		return fmt.Errorf("both nodes (%d) and ratio (%g) are set, want one", o.Nodes, o.Ratio)
	case len(o.Models) == 0:
		return errors.New("models is empty, want at least one of " + strings.Join(architecture.Names(), ", "))
	case o.Hidden < 1:
		return fmt.Errorf("hidden is %d, want at least 1", o.Hidden)
	case o.Layers < 0:
		return fmt.Errorf("layers is %d, want 0 (of each model its own) or more", o.Layers)
	case o.Hops < 0:
		return fmt.Errorf("hops is %d, want 0 (of each model its own) or more", o.Hops)
	case o.Entries < 1:
		return fmt.Errorf("entries is %d, want at least 1", o.Entries)
	case o.Batch < 1:
		return fmt.Errorf("batch is %d, want at least 1", o.Batch)
	case !(o.Coverage >= 0 && o.Coverage <= 1):
		return fmt.Errorf("coverage is %g, want 0 (none) or a share of at most 1", o.Coverage)
	case !slices.Contains([]string{OwnAuto, OwnAlways, OwnNever}, o.Own):
		return fmt.Errorf("own is %q, want %s, %s or %s", o.Own, OwnAuto, OwnAlways, OwnNever)
	}
	for k, name := range o.Models {
		if !slices.Contains(architecture.Names(), name) {
			return fmt.Errorf("models[%d] is %q, want one of %s", k, name, strings.Join(architecture.Names(), ", "))
		}
		if slices.Contains(o.Models[:k], name) {
			return fmt.Errorf("models[%d] is %q, which is there twice", k, name)
		}
		if m.Models != nil && !slices.Contains(m.Models, name) {
			return fmt.Errorf("models[%d] is %q, method %s has %s only", k, name, o.Method, strings.Join(m.Models, ", "))
		}
	}
	if err := o.checkDepth(); err != nil {
		return err
	}
	for k, decay := range o.WeightDecays {
		if !(decay > 0) || math.IsInf(decay, 0) {
			return fmt.Errorf("weight_decays[%d] is %g, want a positive number", k, decay)
		}
	}
	for name := range o.Weights {
		if !slices.Contains(o.Models, name) {
			return fmt.Errorf("weights are given for model %q, which is not among the models %s", name,
				strings.Join(o.Models, ", "))
		}
	}
	return features.Check(o.Preprocess)
}

// decays returns the weight decays to try for a model, strongest first, so that each fit of SGC starts from the last.
func (o Options) decays(model string) []float64 {
	if chosen, ok := o.decayOf[model]; ok {
		return []float64{chosen}
	}
	decays := slices.Clone(WeightDecays)
	if len(o.WeightDecays) > 0 {
		decays = slices.Clone(o.WeightDecays)
	}
	slices.SortFunc(decays, func(a, b float64) int { return cmp.Compare(b, a) })
	return decays
}

// syntheticNodes returns N' for a graph of n nodes: labelled is the number of nodes with a class, present of classes
// that occur. Each type of edges has messages of its own, all of which a row of M has to make of the same nodes.
func (o Options) syntheticNodes(n, labelled, present, types int) int {
	switch {
	case o.Nodes > 0:
		return o.Nodes
	case o.Ratio > 0:
		return max(1, int(float64(n)*o.Ratio+0.5))
	}
	return max(present, min(labelled, max(n/100, min(10*present*max(1, types), labelled/2))))
}

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
		if o.Entries = m.Mapping.MaxPerRow; m.Task.Truth() == target.Neighbours { // whose rows have twice as many
			o.Entries = (o.Entries + 1) / 2
		}
	}
	o.Spread = m.HasSpread()
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
