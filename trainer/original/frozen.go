package original

import (
	"slices"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/infer/growth"
)

// Frozen are the tables of models that arrivals read: of the nodes of T that the nodes held out have edges to, or of S.
type Frozen struct {
	models         []infer.Model
	tables, errors []*infer.Tables // of each model: its own, and those of error propagation
	labels         *infer.Tables   // of label propagation
}

// NewFrozen returns tables of S that an artifact has.
func NewFrozen(m infer.Model, onS *infer.Tables) *Frozen {
	f := &Frozen{}
	f.add(m, onS)
	return f
}

func (f *Frozen) add(m infer.Model, of *infer.Tables) {
	f.models, f.tables = append(f.models, m), append(f.tables, of)
}

// OnT are the tables of the nodes of T that are read.
func (t *Tables) OnT() *Frozen { return t.onT }

// OnS are the tables of S.
func (t *Tables) OnS() *Frozen { return t.onS }

// Tables returns those of a model.
func (f *Frozen) Tables(m infer.Model) *infer.Tables { return f.tables[slices.Index(f.models, m)] }

// Propagation returns the tables of label or error propagation of a model at one α.
func (f *Frozen) Propagation(kind string, m infer.Model, alpha float32) *infer.Tables {
	hops := f.labels
	if kind == infer.PropagateErrors {
		hops = f.errors[slices.Index(f.models, m)]
	}
	if alpha == 1 {
		return hops
	}
	return hops.Restarted(alpha)
}

// Growth is what consumers need to give arrivals rows of M.
func (t *Tables) Growth(c *Synthetic) *artifact.Growth {
	g := &artifact.Growth{Entries: min(t.options.Entries, c.clusters), Dictionary: c.Dictionary,
		Messages: map[string]growth.Messages{}}
	for _, m := range t.models {
		g.Messages[m.Name()] = m.messages
	}
	return g
}
