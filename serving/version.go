package serving

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/explain"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
	"rivulet/infer/retrieval"
	"rivulet/infer/target"
	"rivulet/infer/version"
	"rivulet/mapping"
)

// Auto leaves a choice of [Options] to the artifact.
const Auto = "auto"

// Options choose among the models and settings of an artifact.
type Options struct {
	// Model is the name of one of the artifact's models; "" is the artifact's default.
	Model string
	// Attachment is "frozen" or "joint"; "" or "auto" is the one for which the model's tables and M were made.
	Attachment string
	// Calibration is "none", or the propagation after the model, "lp" or "ep"; "" or "auto" is the choice of
	// validation.
	Calibration string
	// Representation says which vector predictions carry for feeds that compute with it: "none" (also ""), "logits" or
	// "embedding".
	Representation string
	// Coverage is the share of arrivals to be answered, as measured on the validation nodes: predictions with a
	// probability below the threshold for this share abstain. 0: none abstains.
	Coverage float64
	// Capabilities are those that the settings ask for, as [target.Task.Require] knows them: a version whose task does not
	// have one is refused.
	Capabilities []*target.Capability
	// Explain says whether predictions carry their strongest reasons.
	Explain bool
	// Signers are public keys. One of them must have signed a version's manifest; nil: it need not be signed.
	Signers []ed25519.PublicKey
	// Growth says whether arrivals get rows of M, so that later ones can attach to them.
	Growth GrowthOptions
}

// Version is one artifact, ready to serve. It never changes and is safe for concurrent use.
type Version struct {
	manifest       artifact.Manifest
	info           version.Info
	model          artifact.ModelInfo
	attachment     string
	predictor      infer.Predictor
	explainer      *explain.Explainer // nil: answers of the task have no reasons
	representation string
	embedder       infer.Embedder // nil unless representation is "embedding"
	rows           mapping.Lookup
	memory         *mapping.Memory // rows, where all of M is in memory; else nil
	plane          *artifact.Map   // nil: the artifact has none
	growth         growthParts
}

// ID returns the artifact's version.
func (v *Version) ID() string { return v.manifest.Version }

// Info returns the description of the version. It is shared and must not be changed.
func (v *Version) Info() *version.Info { return &v.info }

// Manifest returns the description of the artifact. It is shared and must not be changed.
func (v *Version) Manifest() *artifact.Manifest { return &v.manifest }

// Model returns the name of the model that is served.
func (v *Version) Model() string { return v.model.Name }

// Attachment returns "frozen" or "joint".
func (v *Version) Attachment() string { return v.attachment }

// Calibration returns the calibration that turns logits into probabilities.
func (v *Version) Calibration() infer.Calibration { return v.predictor.Calibration }

// Map returns S in the plane; nil if the artifact has no map. It is shared and must not be changed.
func (v *Version) Map() *artifact.Map { return v.plane }

// Attach attaches arrivals by the rows of M of their neighbours, as the version predicts. Rows say which edges lead to
// them; an edge of which nothing is said weighs 1, and is of all types that lead from the arrivals.
func (v *Version) Attach(b *attach.Batch, neighbours [][]attach.Row) {
	new(attach.Attacher).Attach(b, neighbours, &v.info.Slots, v.info.SyntheticNodes)
}

// Rows fills rows[i] with the row of M of the node ids[i], see [mapping.Lookup].
func (v *Version) Rows(ctx context.Context, ids []string, rows []attach.Row) error {
	if err := v.rows.Rows(ctx, ids, rows); err != nil {
		return fmt.Errorf("version %s: %w", v.ID(), err)
	}
	return nil
}

// Numbers sets numbers[i] to the number of the row of ids[i] in an M in memory ([mapping.Memory.Numbers]). It returns
// nil, and sets nothing, if M is not in memory.
func (v *Version) Numbers(ids []string, numbers []uint32) *attach.PackedRows {
	if v.memory == nil {
		return nil
	}
	return v.memory.Numbers(ids, numbers)
}

// RowStats returns the counts of lookups of the version's rows, and how many rows are in memory.
func (v *Version) RowStats() mapping.CacheStats {
	if counting, ok := v.rows.(interface{ Stats() mapping.CacheStats }); ok {
		return counting.Stats()
	}
	return mapping.CacheStats{}
}

// Predict returns the raw logits and the published probabilities of n attached arrivals, both n×C.
func (v *Version) Predict(b *attach.Batch) (logits, probabilities *graph.Dense) {
	return v.predictor.Predict(b)
}

// New makes a version of an artifact that package artifact has read and checked, and of the lookup of its rows. It
// keeps references to the bundle's memory. The warnings name choices that the artifact was not made for. An error about
// an option is a [*ChoiceError], and names the artifact's choices.
func New(b *artifact.Bundle, rows mapping.Lookup, o Options) (v *Version, warnings []string, err error) {
	m := &b.Manifest
	v = &Version{manifest: *m, rows: rows, plane: b.Map, info: version.Info{ID: m.Version, Task: m.Task,
		Classes: m.Data.Classes, Features: m.Data.Features, Schema: b.Schema, SyntheticNodes: m.SyntheticNodes}}
	v.memory, _ = rows.(*mapping.Memory)
	if b.Schema != nil {
		v.info.Names = b.Schema.Names()
	}
	if b.Candidates != nil {
		v.info.Candidates = retrieval.New(b.Candidates.IDs, b.Candidates.Vectors)
	}
	made, err := v.choose(b, o)
	if err != nil {
		return nil, nil, fmt.Errorf("serving artifact %s: %w", v.ID(), err)
	}
	err = v.deploy(b, made)
	if err == nil {
		err = OptionRepresentation.because(v.prepare(b, made, o.Representation))
	}
	if err == nil {
		err = OptionCoverage.because(v.abstain(o.Coverage))
	}
	if err == nil {
		err = OptionExplain.because(v.prepareExplain(o.Explain))
	}
	if err == nil {
		err = OptionGrowth.because(v.prepareGrowth(b, o.Growth))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("serving artifact %s: model %s: %w", v.ID(), v.model.Name, err)
	}
	if v.attachment != v.model.Attachment {
		warnings = append(warnings, fmt.Sprintf("model %s and M were made for %s attachment and are served %s",
			v.model.Name, v.model.Attachment, v.attachment))
	}
	return v, warnings, nil
}

// choose sets model, attachment and calibration, and returns the model's weights and tables.
func (v *Version) choose(b *artifact.Bundle, o Options) (*artifact.Model, error) {
	name := cmp.Or(o.Model, v.manifest.DefaultModel)
	at := slices.IndexFunc(v.manifest.Models, func(m artifact.ModelInfo) bool { return m.Name == name })
	if at < 0 || at >= len(b.Models) {
		var has []string
		for _, m := range v.manifest.Models {
			has = append(has, m.Name)
		}
		return nil, OptionModel.because(fmt.Errorf("model is %q, the artifact has %s", name, strings.Join(has, ", ")))
	}
	v.model = v.manifest.Models[at]
	v.info.Radius = v.model.Radius
	for _, capability := range o.Capabilities {
		if err := v.info.Task.Require(capability); err != nil {
			return nil, OptionTask.because(err)
		}
	}
	switch o.Attachment {
	case "", Auto:
		v.attachment = v.model.Attachment
	case artifact.AttachFrozen, artifact.AttachJoint:
		v.attachment = o.Attachment
	default:
		return nil, OptionAttachment.because(fmt.Errorf("attachment is %q, want %q, %q or %q", o.Attachment, Auto,
			artifact.AttachFrozen,
			artifact.AttachJoint))
	}
	calibration, err := calibrate(&v.model, o.Calibration)
	calibration.Task, calibration.Temperatures = v.manifest.Task, v.model.Temperatures
	v.predictor.Calibration = calibration
	return &b.Models[at], OptionCalibration.because(err)
}

// calibrate chooses the calibration. A propagation has a temperature of its own.
func calibrate(m *artifact.ModelInfo, kind string) (infer.Calibration, error) {
	if kind == "" || kind == Auto {
		kind = m.Calibration.Kind
	}
	if kind == propagation.None {
		c := infer.Calibration{Kind: kind, Temperature: m.Calibration.Temperature}
		return c, c.Validate()
	}
	if !propagation.Known(kind) {
		return infer.Calibration{}, fmt.Errorf("calibration is %q, want %s", kind, propagation.Choices(Auto))
	}
	p, ok := m.Propagation[kind]
	if !ok {
		has := "none"
		if len(m.Propagation) > 0 {
			has = strings.Join(slices.Sorted(maps.Keys(m.Propagation)), ", ")
		}
		return infer.Calibration{}, fmt.Errorf("calibration is %q, the artifact has parameters of %s for model %s",
			kind, has, m.Name)
	}
	c := infer.Calibration{Kind: kind, Temperature: p.Temperature, Alpha: p.Alpha, Gamma: p.Gamma}
	return c, c.Validate()
}

// deploy builds the model and the propagation for the attachment.
func (v *Version) deploy(b *artifact.Bundle, made *artifact.Model) error {
	model, err := infer.Build(made.Name, made.Params)
	if err != nil {
		return err
	}
	v.predictor.Expert = b.Expert(made.Name)
	if v.info.Joint = v.attachment == artifact.AttachJoint; v.info.Joint {
		if err := v.info.Task.Require(target.JointAttachment); err != nil { // their vectors are in the tables
			return OptionAttachment.because(err)
		}
		v.info.Slots = b.Slots.Joined()
		v.predictor.Model = model.Joint(b.Synthetic.Adj, preprocess.Ready(b.Synthetic.X), &b.Preprocess)
		return OptionCalibration.because(v.deployJointPropagation(&b.Synthetic, made))
	}
	if made.Tables == nil {
		return OptionAttachment.because(fmt.Errorf("attachment is frozen, the artifact has no tables for it (made for %s)",
			v.model.Attachment))
	}
	v.info.Slots = model.Architecture.Slots(b.Slots)
	v.predictor.Model = model.Frozen(made.Tables, &b.Preprocess)
	return OptionCalibration.because(v.deployTables(made))
}

func (v *Version) deployJointPropagation(s *artifact.Synthetic, made *artifact.Model) error {
	c := v.predictor.Calibration
	switch c.Kind {
	case propagation.Labels:
		v.predictor.Propagation = infer.JointLabels(s.Adj, s.Labels, len(v.info.Classes), c.Alpha)
	case propagation.Errors:
		model, ok := v.predictor.Model.(infer.NodeLogits)
		if !ok {
			return fmt.Errorf("calibration is %q, which needs logits of S that the model does not give in joint attachment",
				c.Kind)
		}
		v.predictor.Propagation = infer.JointErrors(s.Adj, s.Labels, model, c.Alpha)
	}
	return nil
}

// deployTables builds a propagation that reads its tables of S.
func (v *Version) deployTables(made *artifact.Model) error {
	c := v.predictor.Calibration
	if c.Kind == propagation.None {
		return nil
	}
	tables := made.Propagations[c.Kind]
	if tables == nil {
		return fmt.Errorf("calibration is %q, the artifact has no tables for it", c.Kind)
	}
	v.predictor.Propagation = c.Frozen(tables)
	return nil
}

// Pin always returns the same version.
type Pin struct{ version *Version }

// Pinned returns a Pin that always serves v.
func Pinned(v *Version) Pin { return Pin{v} }

// Current returns the version.
func (p Pin) Current() *Version { return p.version }

// Trouble returns nil: nothing is waited for.
func (Pin) Trouble() error { return nil }

// StartOver does nothing: nothing was refused.
func (Pin) StartOver() {}

// Losses returns no losses: M is not in Redis.
func (Pin) Losses() mapping.LossStats { return mapping.LossStats{} }

// Forget removes nothing: nothing is stored of arrivals.
func (Pin) Forget(context.Context, []string, []bool) error { return nil }
