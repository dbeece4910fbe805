package trainer

import (
	"context"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/eval"
)

// deployment is one row of the results before it is measured.
type deployment struct {
	setting     string
	sharedM     bool
	calibration string
	through     *graph.CSR // M; nil on T
	predictor   *infer.Predictor
	// rebuild makes the predictor again from copies of its own, to measure what it holds.
	rebuild func() *infer.Predictor
}

// deployments are what section 5 and 6 ask for: O→O, O→S with and without propagation, S→O, and S→S in both forms.
func (t *task) deployments(ctx context.Context, whole *fitted, served *condensed, cal *calibration, progress Progress) ([]deployment, error) {
	small, err := t.fitSynthetic(ctx, served.clusters, progress)
	if err != nil {
		return nil, err
	}
	shared, err := t.tablesOn(small.model, served.mapping)
	if err != nil {
		return nil, err
	}
	alone, own, err := t.withoutOriginal(ctx, small, served, progress)
	if err != nil {
		return nil, err
	}
	out := []deployment{
		t.joint(eval.OtoO, whole.model),
		t.frozen(eval.OtoS, false, whole.model, served.tables, served.mapping),
		t.joint(eval.StoO, alone),
		t.frozen(eval.StoS, false, alone, own.tables, own.mapping),
		t.frozen(eval.StoS, true, small.model, shared, served.mapping),
	}
	for _, kind := range []string{infer.PropagateLabels, infer.PropagateErrors} {
		out = append(out, t.calibrated(kind, whole.model, served, cal))
	}
	return out, nil
}

// withoutOriginal is W_S with an S and M for which no model fitted on T was used: unlabelled nodes join by W_S's own
// prediction, M and tables come from W_S's tables.
func (t *task) withoutOriginal(ctx context.Context, small *fitted, served *condensed, progress Progress) (*infer.SGC, *condensed, error) {
	if len(t.labelled) == len(t.original.Labels) { // nothing was predicted: the clusters are the same
		own, err := t.mapOnto(small.model, served.clusters)
		return small.model, own, err
	}
	points := t.points()
	labelled, err := t.cluster(points, nil)
	if err != nil {
		return nil, nil, err
	}
	seed, err := t.fitSynthetic(ctx, labelled, progress)
	if err != nil {
		return nil, nil, err
	}
	clusters, err := t.cluster(points, seed.model)
	if err != nil {
		return nil, nil, err
	}
	alone, err := t.fitSynthetic(ctx, clusters, progress)
	if err != nil {
		return nil, nil, err
	}
	own, err := t.mapOnto(alone.model, clusters)
	return alone.model, own, err
}

// joint deploys a model on T.
func (t *task) joint(setting string, m *infer.SGC) deployment {
	return deployment{setting: setting, calibration: infer.PropagateNone, predictor: plain(t.onOriginal(m)),
		rebuild: func() *infer.Predictor {
			adj := *t.original.Adj
			adj.RowPtr = append([]int(nil), adj.RowPtr...)
			adj.ColIdx = append([]int32(nil), adj.ColIdx...)
			return plain(copySGC(m).Joint(&adj, t.pre.Raw(t.original.X), t.pre))
		}}
}

// frozen deploys a model on tables of S.
func (t *task) frozen(setting string, shared bool, m *infer.SGC, tables *infer.Tables, through *mapping) deployment {
	return deployment{setting: setting, sharedM: shared, calibration: infer.PropagateNone, through: through.rows,
		predictor: plain(m.Frozen(tables, t.pre)),
		rebuild:   func() *infer.Predictor { return plain(copySGC(m).Frozen(tables, t.pre)) }}
}

// calibrated is O→S with a propagation switched on.
func (t *task) calibrated(kind string, m *infer.SGC, served *condensed, cal *calibration) deployment {
	p := cal.kinds[kind]
	build := func(m *infer.SGC) *infer.Predictor {
		return &infer.Predictor{Model: m.Frozen(served.tables, t.pre),
			Propagation: infer.FrozenPropagation(p.tables, p.info.Alpha, kind == infer.PropagateLabels),
			Calibration: infer.Calibration{Temperature: p.info.Temperature, Kind: kind, Alpha: p.info.Alpha, Gamma: p.info.Gamma}}
	}
	return deployment{setting: eval.OtoS, calibration: kind, through: served.mapping.rows, predictor: build(m),
		rebuild: func() *infer.Predictor { return build(copySGC(m)) }}
}

func copySGC(m *infer.SGC) *infer.SGC {
	return &infer.SGC{W: m.W.Clone(), B: append([]float32(nil), m.B...)}
}

// evaluate measures every deployment on the test nodes, in graph and in node batches.
func (t *task) evaluate(deployments []deployment, progress Progress) []eval.Result {
	var results []eval.Result
	total := len(deployments) * len(modes)
	for _, mode := range modes {
		for _, d := range deployments {
			progress.Step("evaluating on the test nodes", len(results), total)
			set := t.test[mode]
			if d.through != nil {
				set = set.On(d.through)
			}
			answer := eval.Run(d.predictor, set)
			r := eval.Result{Method: t.options.Method, Model: "sgc", Setting: d.setting, SharedM: d.sharedM, Batch: mode,
				Calibration: d.calibration, SyntheticNodes: t.nodes,
				Ratio: float64(t.nodes) / float64(t.original.Adj.Rows), Seeds: []uint64{t.options.Seed},
				Accuracy: eval.Spread{Mean: answer.Accuracy(set)}, MsPerBatch: answer.MsPerBatch}
			if len(set.Batches) > 0 {
				r.InferenceBytes = eval.Memory(d.rebuild, set.Batches[0])
			}
			results = append(results, r)
		}
	}
	progress.Step("evaluating on the test nodes", total, total)
	return results
}
