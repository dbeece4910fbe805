package mcond

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"rivulet/trainer/descent"
)

// Learn condenses T into S and M (the paper's Algorithm 1). progress may be nil. ctx ends the run within a
// step, with its error.
func Learn(ctx context.Context, in Input, o Options, progress func(Event)) (*Result, error) {
	return run(ctx, in, o, true, progress)
}

// GCond condenses T into S alone, by gradient matching without M (Jin et al., 2022): no L_str, and a result to fit
// models on that are deployed on T. With NoAdjacency it is their GCond-X, with OneStep DosCond (Jin et al., "Condensing
// Graphs via One-Step Gradient Matching", 2022).
func GCond(ctx context.Context, in Input, o Options, progress func(Event)) (*Result, error) {
	return run(ctx, in, o, false, progress)
}

func run(ctx context.Context, in Input, o Options, mapped bool, progress func(Event)) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	return train(ctx, prepare(&in, &o), &o, mapped, progress)
}

// train runs the rounds.
func train(ctx context.Context, p *preparedInput, o *Options, mapped bool, progress func(Event)) (*Result, error) {
	l := newLearner(p, o, mapped)
	start := o.now()
	for l.round < o.Rounds && !l.patienceEnded() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		atS, atM := len(l.losses.Gra), len(l.losses.Tra)
		if err := l.doRound(ctx); err != nil {
			return nil, err
		}
		accuracy, err := l.evaluateIfDue()
		if err != nil {
			return nil, err
		}
		if progress != nil {
			e := l.event(atS, atM, accuracy)
			e.Elapsed = o.now().Sub(start)
			e.Left = e.Elapsed / time.Duration(l.round) * time.Duration(o.Rounds-l.round)
			progress(e)
		}
	}
	return l.result()
}

// learner holds a run's state and its work space.
type learner struct {
	*preparedInput
	o *Options

	round   int // outer rounds done
	x       *matrix[float32]
	weights *weights[float32]
	raw     *matrix[float32] // M before normalisation; nil for GCond
	adamX   *descent.Adam[float32]
	adamW   *descent.Adam[float32]
	adamM   *descent.Adam[float32]
	losses  Losses
	evals   []Evaluation
	best    *state

	s         *synthetic[float32]
	relay     *relay[float32]
	matching  *gradientMatch[float32]
	structure *structure[float32] // nil: not part of the run
	norm      *normaliser[float32]
	tra       *transductive[float32]
	ind       *inductive[float32] // nil: not part of the run
	pairs     []pair
	dz        *matrix[float32]
	dw        *weights[float32]
	h, zs     *matrix[float32] // H' and X'W, m×C
	dm        *matrix[float32]
}

// state is S and M after a round, before thresholds.
type state struct {
	round    int
	accuracy float64
	adj, x   *matrix[float32]
	mapping  *matrix[float32] // nil for GCond
}

func newLearner(p *preparedInput, o *Options, mapped bool) *learner {
	n, m, d, classes := p.x.rows, p.nodes(), p.x.cols, p.in.Classes
	l := &learner{preparedInput: p, o: o, x: p.startX(), weights: newWeights[float32](d, hidden),
		s: newSynthetic[float32](m, d, hidden), relay: newRelay[float32](m, d, classes),
		matching: newMatching(p.zt, p.ztClass, p.labels, classes), dz: newMatrix[float32](m, d),
		dw: newWeights[float32](d, hidden), h: newMatrix[float32](m, classes), zs: newMatrix[float32](m, classes)}
	l.s.alone = o.NoAdjacency
	l.weights.start(stream(o.Seed, purposeAffinity), affinityBias)
	l.adamX = descent.NewAdam[float32](len(l.x.data))
	l.adamW = descent.NewAdam[float32](len(l.weights.flat))
	if !mapped {
		return l
	}
	l.raw = l.startM()
	l.adamM = descent.NewAdam[float32](len(l.raw.data))
	l.norm, l.tra, l.dm = newNormaliser[float32](n, m), newTransductive[float32](n, classes), newMatrix[float32](n, m)
	if !o.NoStructure {
		l.structure = newStructure[float32](m, classes)
	}
	if !o.NoInductive && p.in.Support != nil {
		l.ind = newInductive[float32](p.in.Support.R, p.in.Support.Adj, m, classes)
	}
	return l
}

// startM returns the raw M before training.
func (l *learner) startM() *matrix[float32] {
	return startMapping[float32](l.in.Labels, l.labels, l.o.RandomStart, stream(l.o.Seed, purposeMapping))
}

// doRound does one outer round: a new relay, the steps on S, the steps on M.
func (l *learner) doRound(ctx context.Context) error {
	rng := stream(l.o.Seed, purposeRounds+uint64(l.round))
	l.relay.draw(rng)
	if l.raw != nil {
		l.norm.forward(l.raw)
	}
	// Of every five rounds the first moves A', the others X'.
	affinityRound := l.round%5 == 0 && !l.o.NoAdjacency
	l.s.forward(l.weights, l.x)
	for range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if l.structure != nil {
			l.pairs = drawPairs(rng, l.in.Adj, edgeBatch, l.pairs)
		}
		if l.o.OneStep {
			l.relay.draw(rng)
		}
		l.stepS(affinityRound)
	}
	if l.raw != nil {
		l.targets(l.relay, l.tra.want, l.ind)
		l.relay.logits(l.s.z(), l.h)
		gemm(plain, transposed, 1, l.x, l.relay.w, 0, l.zs)
		for range steps {
			if err := ctx.Err(); err != nil {
				return err
			}
			l.stepM()
		}
	}
	l.round++
	return nil
}

// stepS moves X' or the MLP along −∂(L_gra + λL_str), then trains the relay on the new S.
func (l *learner) stepS(affinityRound bool) {
	clear(l.dz.data)
	l.losses.Gra = append(l.losses.Gra, l.matching.loss(l.s.z(), l.relay, l.dz))
	if l.structure != nil {
		l.losses.Str = append(l.losses.Str,
			l.structure.loss(l.s.z(), l.relay, l.norm.out, l.pairs, float32(l.o.Lambda), l.dz))
	}
	if affinityRound {
		l.s.backward(l.weights, l.x, l.dz, l.dw)
		l.adamW.Step(l.weights.flat, l.dw.flat, rateAffinity, 0)
	} else {
		l.s.backward(l.weights, l.x, l.dz, nil)
		l.adamX.Step(l.x.data, l.s.dx.data, l.o.RateX, 0)
	}
	l.s.forward(l.weights, l.x)
	if !l.o.OneStep {
		l.relay.train(l.s.z(), l.labels, l.o.RelaySteps)
	}
}

// stepM moves M along −∂(L_tra + βL_ind).
func (l *learner) stepM() {
	l.norm.forward(l.raw)
	l.losses.Tra = append(l.losses.Tra, l.tra.loss(l.norm.out, l.h, l.dm))
	if l.ind != nil {
		l.losses.Ind = append(l.losses.Ind, l.ind.loss(l.norm.out, l.s.adj(), l.zs, l.relay.b, float32(l.o.Beta), l.dm))
	}
	l.norm.backward(l.raw, l.dm)
	l.adamM.Step(l.raw.data, l.dm.data, rateM, 0)
}

// current returns the state after the last round.
func (l *learner) current() *state {
	now := &state{round: l.round, accuracy: math.NaN(), adj: l.s.adj(), x: l.x}
	if l.raw != nil {
		l.norm.forward(l.raw)
		now.mapping = l.norm.out
	}
	return now
}

func (m *matrix[F]) clone() *matrix[F] {
	if m == nil {
		return nil
	}
	return &matrix[F]{m.rows, m.cols, slices.Clone(m.data)}
}

// evaluateIfDue measures S and M and keeps them if they are the best so far; NaN if no evaluation is due.
func (l *learner) evaluateIfDue() (float64, error) {
	last := l.round == l.o.Rounds
	if l.in.Validate == nil || (!last && l.round%evalEvery != 0) {
		return math.NaN(), nil
	}
	now := l.current()
	var err error
	if now.accuracy, err = l.in.Validate(l.snapshot(now, l.o.Mu[0], l.o.Delta[0])); err != nil {
		return 0, fmt.Errorf("evaluating round %d: %w", l.round, err)
	}
	l.evals = append(l.evals, Evaluation{l.round, now.accuracy})
	if l.best == nil || now.accuracy > l.best.accuracy {
		now.adj, now.x, now.mapping = now.adj.clone(), now.x.clone(), now.mapping.clone()
		l.best = now
	}
	return now.accuracy, nil
}

// patienceEnded reports whether the last Patience evaluations were no better than one before them.
func (l *learner) patienceEnded() bool {
	if l.o.Patience == 0 || l.best == nil {
		return false
	}
	since := 0
	for _, e := range l.evals {
		if e.Round > l.best.round {
			since++
		}
	}
	return since >= l.o.Patience
}
