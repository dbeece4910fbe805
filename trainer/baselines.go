package trainer

import (
	"context"
	"math/rand/v2"

	"rivulet/infer"
	"rivulet/trainer/condense"
	"rivulet/trainer/tables"
)

// Coresets: see their files in package condense for the way in which each chooses nodes of T.

// chooser is a coreset of package condense.
type chooser func(condense.Input, *rand.Rand) *condense.Condensation

// coreset returns the method with this chooser.
func coreset(choose chooser) maker {
	return func(t *task, ctx context.Context, _ []*fitResult, _ Progress) (condensation, error) {
		return t.onGraph(choose(t.material(), t.rng(purposeClusters))), ctx.Err()
	}
}

// material returns T in the form that the methods of package condense take.
func (t *task) material() condense.Input {
	return condense.Input{Adj: t.original.Adj, X: t.x, Points: t.points(), Labels: t.original.Labels,
		Share: t.share}
}

// virtual is the method vng: virtual nodes, which serve by their tables; nothing is fitted on them.
type virtual struct {
	*task
	graphParts
	nodes  *condense.VNG
	fitter *tables.Fitter
}

func (t *task) condenseVNG(ctx context.Context, _ []*fitResult, _ Progress) (condensation, error) {
	v, err := condense.NewVNG(t.material(), t.rng(purposeClusters))
	if err != nil {
		return nil, err
	}
	fitter, err := tables.NewFitter(v.M, tables.MeetingWeights(t.original.Adj))
	if err != nil {
		return nil, err
	}
	return &virtual{t, graphParts{Condensation: &v.Condensation}, v, fitter}, ctx.Err()
}

func (v *virtual) tables(m infer.Model) (*infer.Tables, error) {
	return v.nodes.Tables(m), nil
}

func (v *virtual) propagation(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
	return v.fitter.Fit(v.propagationOnT(kind, m, alpha))
}

func (v *virtual) features(m infer.Model) (*infer.Tables, error) {
	return v.nodes.Features(m.Hops), nil
}
