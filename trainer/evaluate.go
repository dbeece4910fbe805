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
	whole       *fitted
	served      *condensed
	calibration *calibration
	points      *graph.Dense
	labelled    *condense.Clusters // clusters of the labelled nodes alone
}

// deployment is one row of the results before it is measured.
type deployment struct {
	setting     string
	sharedM     bool
	calibration string
	through     *graph.CSR // M; nil on T
	// build makes the predictor from copies of its own, so that what it holds can be measured.
	build func() *infer.Predictor
	// near is the same over the two-hop neighbourhood of a batch; nil on S.
	near func() *infer.Predictor
}

// deployments are what sections 5 and 6 ask for: O→O, O→S with and without propagation, S→O, and S→S in both forms. W_S
// is one model; no model fitted on T has a part in it, in S→O, or in S→S without the shared M.
func (t *task) deployments(ctx context.Context, r recipe, progress Progress) ([]deployment, error) {
	small, err := t.fitSynthetic(ctx, r.labelled, progress)
	if err != nil {
		return nil, err
	}
	own, err := t.condense(ctx, small.model, r.points, r.labelled, progress)
	if err != nil {
		return nil, err
	}
	shared, err := t.tablesOn(small.model, r.served.mapping)
	if err != nil {
		return nil, err
	}
	out := []deployment{
		t.joint(eval.OtoO, r.whole.model),
		t.frozen(eval.OtoS, false, r.whole.model, r.served.tables, r.served.mapping),
		t.joint(eval.StoO, small.model),
		t.frozen(eval.StoS, false, small.model, own.tables, own.mapping),
		t.frozen(eval.StoS, true, small.model, shared, r.served.mapping),
	}
	for _, kind := range propagationKinds {
		out = append(out, t.propagated(kind, r))
	}
	return out, nil
}

// joint deploys a model on T. What is held is Z = pre(X)W of T's nodes, not their features.
func (t *task) joint(setting string, m *infer.SGC) deployment {
	adj := func() *graph.CSR {
		a := t.original.Adj
		return &graph.CSR{Rows: a.Rows, Cols: a.Cols, RowPtr: slices.Clone(a.RowPtr), ColIdx: slices.Clone(a.ColIdx),
			Val: slices.Clone(a.Val)}
	}
	return deployment{setting: setting, calibration: infer.PropagateNone,
		build: func() *infer.Predictor { return plain(copySGC(m).Joint(adj(), t.inputs, t.pre)) },
		near:  func() *infer.Predictor { return plain(copySGC(m).Neighbourhood(adj(), t.inputs, t.pre)) },
	}
}

// frozen deploys a model on tables of S; the deployment copies them.
func (t *task) frozen(setting string, shared bool, m *infer.SGC, tables *infer.Tables, through *mapping) deployment {
	return deployment{setting: setting, sharedM: shared, calibration: infer.PropagateNone, through: through.rows,
		build: func() *infer.Predictor { return plain(copySGC(m).Frozen(tables, t.pre)) }}
}

// propagated is O→S with a propagation switched on.
func (t *task) propagated(kind string, r recipe) deployment {
	p := r.calibration.kinds[kind]
	return deployment{setting: eval.OtoS, calibration: kind, through: r.served.mapping.rows,
		build: func() *infer.Predictor {
			return &infer.Predictor{Model: copySGC(r.whole.model).Frozen(r.served.tables, t.pre),
				Propagation: infer.FrozenPropagation(p.tables, p.info.Alpha, kind == infer.PropagateLabels),
				Calibration: infer.Calibration{Temperature: p.info.Temperature, Kind: kind, Alpha: p.info.Alpha, Gamma: p.info.Gamma}}
		}}
}

func copySGC(m *infer.SGC) *infer.SGC {
	return &infer.SGC{W: m.W.Clone(), B: slices.Clone(m.B)}
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
	r := eval.Result{Method: t.options.Method, Model: "sgc", Setting: d.setting, SharedM: d.sharedM, Batch: mode,
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
