package trainer

import (
	"context"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/condense"
	"rivulet/trainer/eval"
)

// recipe is what a run has made by the time it is evaluated.
type recipe struct {
	whole        []*fitted // W_O of each model
	served       *condensed
	calibrations []*calibration // of each model on S
	points       *graph.Dense
	labelled     *condense.Clusters // clusters of the labelled nodes alone
}

// deployment is one row of the results before it is measured.
type deployment struct {
	model       string
	setting     string
	sharedM     bool
	calibration string
	through     *graph.CSR // M; nil on T
	// build makes the predictor from copies of its own, so that what it holds can be measured.
	build func() *infer.Predictor
	// near is the same over the two-hop neighbourhood of a batch; nil on S.
	near func() *infer.Predictor
}

// deployments are what sections 5 and 6 ask for, for each model: O→O, O→S with and without propagation, S→O, and S→S in
// both forms. W_S is one model; no model fitted on T has a part in it, in S→O, or in S→S without the shared M.
func (t *task) deployments(ctx context.Context, r recipe, progress Progress) ([]deployment, error) {
	relay, err := t.fitSynthetic(ctx, r.labelled, progress)
	if err != nil {
		return nil, err
	}
	joined := t.join(r.labelled, r.points, relay.model)
	var out []deployment
	for k, whole := range r.whole {
		small := relay
		if name := whole.model.Name(); name != modelSGC {
			if small, err = t.fitLayered(ctx, name, r.labelled, joined, progress); err != nil {
				return nil, err
			}
		}
		own, err := t.condense(ctx, []infer.Model{small.model}, r.points, r.labelled, progress)
		if err != nil {
			return nil, err
		}
		shared, err := t.tablesOn(small.model, r.served.mapping)
		if err != nil {
			return nil, err
		}
		out = append(out,
			t.joint(eval.OtoO, whole.model),
			t.frozen(eval.OtoS, false, whole.model, r.served.tables[k], r.served.mapping),
			t.joint(eval.StoO, small.model),
			t.frozen(eval.StoS, false, small.model, own.tables[0], own.mapping),
			t.frozen(eval.StoS, true, small.model, shared, r.served.mapping))
		for _, kind := range propagationKinds {
			out = append(out, t.propagated(kind, k, r))
		}
	}
	return out, nil
}

// joint deploys a model on T. What is held is the projection of T's features, not the features.
func (t *task) joint(setting string, m infer.Model) deployment {
	adj := func() *graph.CSR {
		a := t.original.Adj
		return &graph.CSR{Rows: a.Rows, Cols: a.Cols, RowPtr: slices.Clone(a.RowPtr), ColIdx: slices.Clone(a.ColIdx),
			Val: slices.Clone(a.Val)}
	}
	d := deployment{model: m.Name(), setting: setting, calibration: infer.PropagateNone,
		build: func() *infer.Predictor { return plain(cloned(m).Joint(adj(), t.inputs, t.pre)) }}
	if _, ok := m.(neighbourly); ok {
		d.near = func() *infer.Predictor { return plain(cloned(m).(neighbourly).Neighbourhood(adj(), t.inputs, t.pre)) }
	}
	return d
}

// neighbourly is a model that can be deployed over the neighbourhood of each batch.
type neighbourly interface {
	Neighbourhood(*graph.CSR, infer.Inputs, *infer.Preprocess) infer.Deployment
}

// frozen deploys a model on tables of S; the deployment copies them.
func (t *task) frozen(setting string, shared bool, m infer.Model, tables *infer.Tables, through *mapping) deployment {
	return deployment{model: m.Name(), setting: setting, sharedM: shared, calibration: infer.PropagateNone, through: through.rows,
		build: func() *infer.Predictor { return plain(cloned(m).Frozen(tables, t.pre)) }}
}

// propagated is O→S of model k with a propagation switched on.
func (t *task) propagated(kind string, k int, r recipe) deployment {
	p, m := r.calibrations[k].kinds[kind], r.whole[k].model
	return deployment{model: m.Name(), setting: eval.OtoS, calibration: kind, through: r.served.mapping.rows,
		build: func() *infer.Predictor {
			return &infer.Predictor{Model: cloned(m).Frozen(r.served.tables[k], t.pre),
				Propagation: infer.FrozenPropagation(p.tables, p.info.Alpha, kind == infer.PropagateLabels),
				Calibration: infer.Calibration{Temperature: p.info.Temperature, Kind: kind, Alpha: p.info.Alpha, Gamma: p.info.Gamma}}
		}}
}

// cloned is a model with weights of its own.
func cloned(m infer.Model) infer.Model {
	params := m.Params()
	for k := range params {
		params[k].Value = params[k].Value.Clone()
	}
	out, err := infer.Build(m.Name(), params)
	if err != nil {
		panic(err) // they are a model's
	}
	return out
}

// evaluate measures every deployment on the test nodes, in graph and in node batches; nothing where there are none.
func (t *task) evaluate(ctx context.Context, deployments []deployment, progress Progress) ([]eval.Result, error) {
	const what = "evaluating on the test nodes"
	var results []eval.Result
	if len(t.data.Test) == 0 {
		return nil, ctx.Err()
	}
	total := len(deployments) * len(modes)
	for _, mode := range modes {
		for _, d := range deployments {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			progress.Step(what, len(results), total)
			results = append(results, t.measure(d, mode))
		}
	}
	progress.Step(what, total, total)
	return results, nil
}

func (t *task) measure(d deployment, mode string) eval.Result {
	set := t.test[mode]
	if d.through != nil {
		set = set.On(d.through)
	}
	predictor := d.build()
	r := eval.Result{Method: t.options.Method, Model: d.model, Setting: d.setting, SharedM: d.sharedM, Batch: mode,
		Calibration: d.calibration, SyntheticNodes: t.nodes,
		Ratio: float64(t.nodes) / float64(t.original.Adj.Rows), Seeds: []uint64{t.options.Seed},
		Accuracy:       eval.Spread{Mean: eval.Run(predictor, set).Accuracy(set)},
		MsPerBatch:     eval.Time(predictor, set),
		InferenceBytes: eval.Memory(func() eval.Predictor { return d.build() }, set)}
	if d.near != nil {
		r.MsPerBatchNear = eval.Time(d.near(), set)
	}
	return r
}
