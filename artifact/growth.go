package artifact

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/growth"
)

// Growth gives arrivals rows of M of their own, so that later arrivals can attach to them (docs/algorithm.md,
// section 5, last part): the dictionary that the rows of T's nodes were solved against, and how models' tables
// become its columns. All models that M was solved for have a part in it, whichever is served, so that every
// consumer solves the same rows.
type Growth struct {
	Entries    int                        // k: most entries of a row
	Dictionary *graph.Dense               // t', N'×p: the messages of the synthetic nodes
	Messages   map[string]growth.Messages // by model, whose columns stand side by side in the order of Manifest.Models
}

// ErrNoGrowth says that an artifact has nothing to solve rows of arrivals against.
var ErrNoGrowth = errors.New("the artifact has no dictionary to solve rows of M for arrivals against: " +
	"train it anew with trainer train, by method solved or cluster")

// Grower gives rows of M to arrivals, by the frozen deployments of the models for which M was solved. deployed may have
// deployments that exist already, by name. It fails with [ErrNoGrowth] if the artifact has no Growth.
func (b *Bundle) Grower(deployed map[string]infer.Deployment) (*growth.Grower, error) {
	if b.Growth == nil {
		return nil, ErrNoGrowth
	}
	var models []growth.Model
	for _, m := range b.Models {
		messages, ok := b.Growth.Messages[m.Name]
		if !ok {
			continue
		}
		frozen, ok := deployed[m.Name].(infer.Growable)
		if !ok {
			model, err := infer.Build(m.Name, m.Params)
			if err != nil {
				return nil, err
			}
			if frozen, ok = model.Frozen(m.Tables, &b.Preprocess).(infer.Growable); !ok {
				return nil, fmt.Errorf("model %s gives its arrivals no tables", m.Name)
			}
		}
		models = append(models, growth.Model{Frozen: frozen, Messages: messages})
	}
	return growth.NewGrower(b.Growth.Dictionary, b.Growth.Entries, models, b.Slots), nil
}

// fields visits the growth of n synthetic nodes for these models; tensors of other models are left alone.
func (g *Growth) fields(f *fields, n int, models []ModelInfo) {
	if f.reading() {
		g.Messages = map[string]growth.Messages{}
	}
	f.dense("dictionary", "N'×p, messages of the synthetic nodes", &g.Dictionary, n, anyLength)
	f.int("entries", "most entries of a row of M", &g.Entries)
	for _, m := range models {
		messages, there := g.Messages[m.Name]
		if !f.hasGroup(m.Name+".", there) {
			continue
		}
		if messageFields(f, m.Name, &messages); f.reading() {
			g.Messages[m.Name] = messages
		}
	}
}

// messageFields visits the parts of a model, of tables u0, u1, … and c.
func messageFields(f *fields, model string, m *growth.Messages) {
	for k := 0; ; k++ {
		name := fmt.Sprintf("%s.u%d", model, k)
		if f.reading() && (f.has(name+".scale", false) || f.has(name+".factor", false)) {
			m.U = append(m.U, growth.Part{})
		}
		if k == len(m.U) {
			break
		}
		partFields(f, name, &m.U[k])
	}
	if f.has(model+".slots", len(m.Slots) > 1) {
		f.floats(model+".slots", "factor of each slot's messages", &m.Slots, anyLength)
	} else if f.reading() {
		m.Slots = []float32{1}
	}
	partFields(f, model+".c", &m.C)
}

func partFields(f *fields, name string, p *growth.Part) {
	if f.has(name+".factor", p.Factor != nil) {
		f.dense(name+".factor", "width×columns, makes messages of the table", &p.Factor, anyLength, anyLength)
		return
	}
	f.float(name+".scale", "of the table's columns as messages", &p.Scale)
}

// validateGrowth checks the dictionary and that the parts of each model fit its tables, which are valid.
func (b *Bundle) validateGrowth() error {
	g := b.Growth
	width := 0
	for _, name := range slices.Sorted(maps.Keys(g.Messages)) {
		at := slices.IndexFunc(b.Models, func(m Model) bool { return m.Name == name })
		switch {
		case at < 0:
			return fmt.Errorf("messages of model %q, which the artifact does not have", name)
		case b.Models[at].Tables == nil:
			return fmt.Errorf("messages of model %q, which has no frozen tables", name)
		}
		messages := g.Messages[name]
		if err := validateMessages(name, &messages, b.Models[at].Tables); err != nil {
			return err
		}
		if n := len(messages.Slots); n != b.Slots.Len() {
			return fmt.Errorf("%s.slots has %d values for %d slots of edges", name, n, b.Slots.Len())
		}
		if err := validateFinite(messages.Slots, 1); err != nil {
			return fmt.Errorf("%s.slots: %w", name, err)
		}
		width += messages.Width(b.Models[at].Tables)
	}
	if width == 0 {
		return errors.New("no messages of any model")
	}
	if err := validateDense(g.Dictionary, b.Manifest.SyntheticNodes, width); err != nil {
		return fmt.Errorf("dictionary: %w", err)
	}
	if g.Entries < 1 || g.Entries > b.Manifest.SyntheticNodes {
		return fmt.Errorf("entries is %d, want 1 to %d", g.Entries, b.Manifest.SyntheticNodes)
	}
	return nil
}

func validateMessages(model string, m *growth.Messages, t *infer.Tables) error {
	if len(m.U) != len(t.U) || t.C == nil {
		return fmt.Errorf("%s: messages of %d tables, the model has %d", model, len(m.U), len(t.U))
	}
	for k, u := range t.U {
		if err := validatePart(&m.U[k], u.Cols); err != nil {
			return fmt.Errorf("%s.u%d.%w", model, k, err)
		}
	}
	if err := validatePart(&m.C, t.C.Cols); err != nil {
		return fmt.Errorf("%s.c.%w", model, err)
	}
	return nil
}

func validatePart(p *growth.Part, width int) error {
	if p.Factor != nil {
		if err := validateDense(p.Factor, width, p.Factor.Cols); err != nil {
			return fmt.Errorf("factor: %w", err)
		}
		return nil
	}
	if s := float64(p.Scale); !(s >= 0) || math.IsInf(s, 0) {
		return fmt.Errorf("scale: value is %v, want a finite number of 0 or more", p.Scale)
	}
	return nil
}
