package trainer

import (
	"context"

	"rivulet/infer"
	"rivulet/trainer/condense"
	"rivulet/trainer/tables"
)

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
