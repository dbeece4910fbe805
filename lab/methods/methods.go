// Package methods has the methods of condensation that the laboratory compares with package trainer's own: the
// paper's recipe and GCond (package mcond), coresets and virtual nodes (package condense). A command hands them to a
// run by value, as [trainer.Options].More.
package methods

import (
	"context"
	"math/rand/v2"

	"rivulet/infer"
	"rivulet/lab/mcond"
	"rivulet/trainer"
	"rivulet/trainer/condense"
)

// Names of the methods: docs/algorithm.md, sections 4 (learned) and 7.
const (
	Learned = "learned"
	GCond   = "gcond"
	GCondX  = "gcond-x"
	DosCond = "doscond"
	Random  = "random"
	Degree  = "degree"
	Herding = "herding"
	KCenter = "kcenter"
	VNG     = "vng"
)

// All returns the methods of the laboratory. The learned ones (learned, gcond, gcond-x, doscond) read the settings.
func All(s Settings) []trainer.Method {
	return []trainer.Method{
		{Name: Learned, Label: s.Label(), Condense: s.learned},
		{Name: GCond, Comparison: true, Condense: s.gcond(mcond.Options{})},
		{Name: GCondX, Comparison: true, Condense: s.gcond(mcond.Options{NoAdjacency: true})},
		{Name: DosCond, Comparison: true, Condense: s.gcond(mcond.Options{OneStep: true})},
		{Name: Random, Condense: coreset(condense.Random)},
		{Name: Degree, Condense: coreset(condense.Degree)},
		{Name: Herding, Condense: coreset(condense.Herding)},
		{Name: KCenter, Condense: coreset(condense.KCenter)},
		{Name: VNG, Models: []string{"sgc"}, Frozen: true, Condense: virtual},
	}
}

// coreset returns the method that makes S of nodes of T; the files of package condense say how each chooses them.
func coreset(choose func(condense.Input, *rand.Rand) *condense.Condensation) trainer.Condenser {
	return func(ctx context.Context, t *trainer.T, _ *trainer.Held, r *trainer.Run, _ []infer.Model) (*trainer.Result,
		error) {
		return &trainer.Result{Condensation: choose(r.Input(t), r.Rand())}, ctx.Err()
	}
}

// virtual makes virtual nodes, which serve by their tables; nothing is fitted on them.
func virtual(ctx context.Context, t *trainer.T, _ *trainer.Held, r *trainer.Run, _ []infer.Model) (*trainer.Result,
	error) {
	v, err := condense.NewVNG(r.Input(t), r.Rand())
	if err != nil {
		return nil, err
	}
	return &trainer.Result{Condensation: &v.Condensation,
		Tables:   func(m infer.Model) (*infer.Tables, error) { return v.Tables(m), nil },
		Features: func(m infer.Model) (*infer.Tables, error) { return v.Features(m.Hops), nil }}, ctx.Err()
}
