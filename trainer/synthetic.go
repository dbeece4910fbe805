package trainer

import (
	"context"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/trainer/condense"
	"rivulet/trainer/fit"
	"rivulet/trainer/sample"
	"rivulet/trainer/search"
)

// Candidates for a fit on S with the spread of T's nodes, or with soft labels (docs/algorithm.md, section 5).
var (
	spreadRanks  = []int{32, 128} // directions
	spreadDecays = []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7}
)

// fit fits W_S; it uses no model that was fitted on T.
func (c *clustering) fit(ctx context.Context, name string) (*search.Result, error) {
	if c.relay == nil {
		relay, err := c.fitLinear(ctx, modelSGC)
		if err != nil {
			return nil, err
		}
		c.relay = relay
	}
	if name == modelSGC {
		return c.relay, nil
	}
	if c.shape(name).Mix() != nil {
		return c.fitLinear(ctx, name)
	}
	return c.fitLayered(ctx, name, c.relay, false)
}

// fitLinear fits W_S of a linear model.
func (c *clustering) fitLinear(ctx context.Context, name string) (*search.Result, error) {
	if !c.r.Spread {
		return c.fitMeans(ctx, name)
	}
	what := "fitting " + name + " on the synthetic graph, with its spread"
	judge, err := c.judge(ctx, wholeGround(c.t, c.h))
	if err != nil {
		return nil, err
	}
	s := c.teacher(name)
	problems := []fit.Problem{s.problem}
	for _, rank := range spreadRanks {
		with := s.problem
		with.Spread = s.spread.Narrow(rank)
		problems = append(problems, with)
	}
	l := search.Linear{Shape: c.shape(name), Validate: judge, Progress: c.r.Progress, What: what}
	best, of, err := l.Among(ctx, problems, spreadDecays)
	if err != nil || name != modelSGC {
		return best, err
	}
	e := &c.exported
	e.Means, e.Weights, e.Factor, e.Rest = s.means, s.problem.Weights, s.spread.Factor, s.spread.Rest
	if of.Spread != nil {
		e.Rank = of.Spread.Factor.Rows
	}
	e.Decay = float32(best.WeightDecay)
	return best, nil
}

// spread returns the spread of S, from which an SGC can be fitted on S alone.
func (c *clustering) spread(ctx context.Context) (*artifact.Spread, error) {
	if _, err := c.fit(ctx, modelSGC); err != nil {
		return nil, err
	}
	_, err := c.fitLabels(ctx, modelSGC)
	return &c.exported, err
}

// fitLabels fits W_S to soft labels of S, which a fit to T's labelled nodes within the span of S has written. Models
// with hidden layers are taught by such an SGC.
func (c *clustering) fitLabels(ctx context.Context, name string) (*search.Result, error) {
	if c.shape(name).Mix() == nil {
		relay, err := c.fitLabels(ctx, modelSGC)
		if err != nil {
			return nil, err
		}
		return c.fitLayered(ctx, name, relay, true)
	}
	if name == modelSGC && c.taught != nil {
		return c.taught, nil
	}
	what := "fitting " + name + " on the synthetic graph, to soft labels"
	judge, err := c.judge(ctx, wholeGround(c.t, c.h))
	if err != nil {
		return nil, err
	}
	s := c.teacher(name)
	var trials []search.Trial
	labels := map[infer.Model]fit.Problem{}
	for _, rank := range spreadRanks {
		solve := fit.NewLabelSolve(s.rows, s.means, s.spread.Narrow(rank).Factor, s.problem.Weights)
		var start, small *architecture.Layer
		for _, decay := range spreadDecays {
			trials = append(trials, search.Trial{Decay: decay, Fit: func() (infer.Model, float64, error) {
				p := s.problem
				p.Directions = s.spread.Narrow(rank).Factor
				var err error
				if p.Soft, start, err = solve.Labels(ctx, decay, start); err != nil {
					return nil, 0, err
				}
				if small, err = fit.SGC(ctx, p, decay, fit.Final, small); err != nil {
					return nil, 0, err
				}
				m := c.shape(name).Linear(small)
				labels[m] = p
				accuracy, err := judge(ctx, m)
				return m, accuracy, err
			}})
		}
	}
	best, err := search.Choose(what, c.r.Progress, trials)
	if err != nil || name != modelSGC {
		return best, err
	}
	c.taught = best
	c.exported.Soft, c.exported.SoftSpread = labels[best.Model].Soft.Means, labels[best.Model].Soft.Spread
	c.exported.SoftDecay = float32(best.WeightDecay)
	return best, nil
}

// shape returns the shape of a model of the run.
func (c *clustering) shape(name string) fit.Shape { return c.r.shape(c.t, name) }

// teacher has the means, spread and soft labels by which S teaches a linear model.
type teacher struct {
	means   *graph.Dense // of the propagated features, N'×d
	around  fit.Input    // these features of labelled nodes, a sample of them where they are many
	spread  *fit.Spread  // of the sample around the means
	rows    fit.Problem  // of a part of the sample
	problem fit.Problem  // of the means alone
}

// around returns the sample of labelled nodes of T from which the spread is computed; soft labels are fitted to a
// quarter of it. Variances along directions are off by up to 2√(d/rows): with 602 features and 16,384 rows that is 38%.
func around(t *T, r *Run) []int32 { return sample.Evenly(t.labelled, 4*r.sampledRows) }

func (c *clustering) teacher(name string) *teacher {
	mix, nodes, means := c.shape(name).Mix(), around(c.t, c.r), c.meansFor(name)
	some := sample.Evenly(graph.Indices(len(nodes)), c.r.sampledRows)
	out := &teacher{means: means, around: fit.Input{Means: means}, problem: c.onMeans(means),
		rows: fit.Problem{Labels: graph.Pick(c.t.Labels, graph.Pick(nodes, some)), Classes: c.t.Classes()}}
	if c.rows != nil && slices.Equal(mix, twoHops) {
		out.around.Rows, out.rows.Design = fit.Explicit{X: c.rows}, fit.Explicit{X: c.rows.Take(some)}
	} else {
		out.around.Rows = fit.NewPropagated(c.t.hat(), mix, c.t.x, nodes)
		out.rows.Design = fit.NewPropagated(c.t.hat(), mix, c.t.x, graph.Pick(nodes, some))
	}
	out.spread = fit.Spreads([]fit.Input{out.around}, graph.Pick(c.labelled.Of, nodes), slices.Max(spreadRanks))[0]
	return out
}

// judge returns the accuracy of models on S: by their tables behind the M of a relay, an SGC that was fitted on the N'
// means. No model that was fitted on T has a part in it, and no model is deployed on T; on is T or a sample of it.
func (c *clustering) judge(ctx context.Context, on *search.Ground) (search.Validator, error) {
	if c.judging != nil {
		return on.Behind(c.judging), nil
	}
	byMembership := func(ctx context.Context, m infer.Model) (float64, error) {
		return wholeGround(c.t, c.h).Behind(condense.MembershipMapping(c.join(m)))(ctx, m)
	}
	l := search.Linear{Shape: c.shape(modelSGC), Validate: byMembership, Progress: c.r.Progress,
		What: "fitting a relay on the synthetic graph"}
	relay, _, err := l.Among(ctx, []fit.Problem{c.onMeans(c.meansFor(modelSGC))}, spreadDecays)
	if err != nil {
		return nil, err
	}
	joined, of := c.join(relay.Model), []infer.Model{relay.Model}
	onT := []*infer.Tables{c.t.tables(relay.Model)}
	c.judging, err = c.mapping(c, joined, func() *condense.Dictionary { return c.dictionary(joined, of, onT) })
	return on.Behind(c.judging), err
}

// meansFor returns the means over clusters of the features that a linear model propagates, N'×d.
func (c *clustering) meansFor(name string) *graph.Dense {
	if c.means != nil && slices.Equal(c.shape(name).Mix(), twoHops) {
		return c.means
	}
	return propagatedMeans(c.t, c.shape(name), c.labelled)
}

// propagatedMeans returns the means over clusters of the features that a linear model propagates, N'×d.
func propagatedMeans(t *T, s fit.Shape, labelled *condense.Clusters) *graph.Dense {
	return fit.Propagated(t.hat(), s.Mix(), t.x, nil).Adjoint(labelled.Averages()).Transposed()
}

// onMeans poses the fit of W_S of a linear model: on the cluster means of its propagated features, weighted by the
// labelled nodes of each cluster. A cluster has the class of its nodes, or the mean of their targets. The means are
// over the labelled nodes only: with the unlabelled ones, whose class is a guess, W_S loses a point (cora).
func (c *clustering) onMeans(means *graph.Dense) fit.Problem {
	return fit.Problem{Design: fit.Explicit{X: means}, Labels: c.labelled.Labels, Weights: c.labelled.Weights(),
		Classes: c.t.Classes(), Task: c.t.task, Targets: c.meanTargets()}
}

// meanTargets are the means of the targets of each cluster, N'×C; nil where the task is classes.
func (c *clustering) meanTargets() *graph.Dense {
	if c.t.Targets == nil {
		return nil
	}
	return graph.Mul(c.labelled.Membership(), c.t.Targets)
}

// fitMeans fits W_S of a linear model on the means alone.
func (c *clustering) fitMeans(ctx context.Context, name string) (*search.Result, error) {
	return c.r.chooseLinear(ctx, c.shape(name), c.onMeans(c.meansFor(name)), WeightDecays, validate(c.t, c.h),
		"fitting "+name+" on the synthetic graph")
}

// fitLayered fits W_S of a model with hidden layers: layer 1 reads the means of the labelled nodes of each cluster,
// later layers the clusters of their neighbours (docs/algorithm.md, section 5, step 5). With a spread, fits to draws
// around the means are tried, too; relay is a linear model that teaches them. taught says that only these are.
func (c *clustering) fitLayered(ctx context.Context, name string, relay *search.Result,
	taught bool) (*search.Result, error) {
	what := "fitting " + name + " on the synthetic graph"
	joined := c.join(relay.Model)
	p := fit.OnSynthetic(c.shape(name), c.t.Adj, c.t.x, c.labelled.Membership(), condense.MembershipMapping(joined),
		c.labelled.Labels, c.labelled.Weights(), c.t.Classes()).Of(c.t.task, c.meanTargets())
	if !c.r.Spread {
		return search.OnS(c.r.Seed).Choose(ctx, p, c.r.ground(c.t, c.h).Validate, c.r.Progress, what)
	}
	judge, err := c.judge(ctx, c.r.ground(c.t, c.h))
	if err != nil {
		return nil, err
	}
	around := search.OnS(c.r.Seed)
	around.Decays, around.Dropouts = []float64{1e-3, 1e-4}, []search.Dropouts{{Hidden: 0.5}}
	n := c.neighbourhood(name, p, joined, relay.Model)
	trials := around.Trials(ctx, p.Around(n), judge, c.r.Progress)
	if !taught {
		n.Logits = nil
		trials = slices.Concat(search.OnS(c.r.Seed).Trials(ctx, p, judge, c.r.Progress),
			around.Trials(ctx, p.Around(n), judge, c.r.Progress), trials)
	}
	return search.Choose(what+", with its spread", c.r.Progress, trials)
}

// neighbourhood measures how T's labelled nodes lie around the synthetic ones in what the layers of a model read, and
// in what the relay reads.
func (c *clustering) neighbourhood(name string, p fit.GNNProblem, joined *condense.Clusters,
	relay infer.Model) fit.Neighbourhood {
	nodes, z := around(c.t, c.r), c.teacher(modelSGC)
	op := p.Operator(c.t.Adj)
	inputs := []fit.Input{z.around, {Rows: c.t.x.Design(op.Take(nodes)), Means: p.Propagated.(fit.Explicit).X}}
	if p.ReadsSelf() {
		inputs = append(inputs, fit.Input{Rows: c.t.ownFeatures(nodes).Design(), Means: p.Self.(fit.Explicit).X})
	}
	spreads := fit.Spreads(inputs, graph.Pick(c.labelled.Of, nodes), slices.Max(spreadRanks))
	out := fit.Neighbourhood{Propagated: spreads[1], Own: c.labelled.Own(op),
		Logits: graph.MulDense(z.means, relay.Layers[0].Self).AddRow(relay.Layers[0].Bias),
		Along:  graph.MulDense(spreads[0].Factor, relay.Layers[0].Self)}
	if p.ReadsSelf() {
		out.Self = spreads[2]
	}
	out.Shared = fit.SharedDeviation(op, fit.Input{Rows: c.t.x.Design(op), Means: inputs[1].Means}, joined.Of,
		spreads[1].Factor)
	return out
}
