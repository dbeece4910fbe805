package deploy

import (
	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/propagation"
	"rivulet/trainer/calibrate"
	"rivulet/trainer/eval"
)

// Row is one row of the results before it is measured.
type Row struct {
	*Deployment
	Setting     string
	SharedM     bool
	WeightDecay float64
	Calibration infer.Calibration
	Spreading   *Propagation // nil: without propagation
	Radius      []float64    // of intervals of numbers; nil: the task is classes
	Served      bool         // consumers serve it where nothing else is said
}

// Rows returns a deployment without propagation and with each kind that was calibrated. If consumers serve it, they
// serve the kind that validation chose.
func Rows(d Row, c *Calibration) []Row {
	if c == nil {
		return nil
	}
	d.Calibration, d.Radius = c.plain(), c.Radius
	served := d.Served
	d.Served = served && c.Kind == propagation.None
	out := []Row{d}
	for _, kind := range propagation.Kinds {
		if p := c.Kinds[kind.Name]; p != nil {
			d.Calibration, d.Spreading, d.Served = p.Calibration(kind.Name), p.Spreading, served && c.Kind == kind.Name
			out = append(out, d)
		}
	}
	return out
}

// Quick returns a predictor with the same bits as Predictor's, sooner where nothing has to know all logits.
func (d *Row) Quick() *infer.Predictor {
	if d.Spreading != nil {
		return d.Predictor(d.Calibration, d.Spreading)
	}
	return &infer.Predictor{Model: d.Quickest(), Expert: d.Expert, Calibration: d.Calibration}
}

// Costs measures the time of a batch and the memory of inference. For the neighbourhood alone it takes the time of the
// answer, if that took enough batches.
func (d *Row) Costs(r *eval.Result, quick *eval.Answer, set *eval.Set, keep Footprint) {
	predictor := d.Predictor(d.Calibration, d.Spreading)
	r.MsPerBatch = eval.Time(predictor, set)
	if d.Pass != nil {
		whole := *predictor
		whole.Model = d.Pass()
		r.MsPerBatchKept, r.MsPerBatch = r.MsPerBatch, eval.Time(&whole, set)
	}
	if d.Spreading != nil {
		r.PropagationMs = eval.Time(alonePropagation{predictor.Propagation}, set)
	}
	r.HeldBytes, r.StoredBytes = keep.Memory, keep.Stored
	r.InferenceBytes = eval.Memory(func() eval.Predictor { return d.Predictor(d.Calibration, d.Spreading) }, set)
	if d.Through == nil {
		r.InferenceBytes = max(0, r.InferenceBytes-d.Kept) // T's own tables, or classes, stand for M, and are counted there
	}
	if d.Near != nil && d.Spreading == nil {
		if r.MsPerBatchNear = quick.MsPerBatch; r.MsPerBatchNear == 0 {
			r.MsPerBatchNear = eval.Time(eval.Plain(d.Near()), set)
		}
	}
}

// Judge sets the scores of an answer, and how well its probabilities tell them.
func (d *Row) Judge(r *eval.Result, predictor *infer.Predictor, answer *eval.Answer, set *eval.Set) {
	r.Scores = answer.Scores(set, d.Radius)
	if set.Task.Regression() { // numbers have no probabilities
		return
	}
	reliability := func(probabilities []*graph.Dense) []eval.Bin {
		return eval.Reliability(set.Task, probabilities, set.Labels, set.Targets)
	}
	r.Reliability = reliability(answer.Probabilities)
	r.ReliabilityBefore = reliability(Uncalibrated(predictor, answer, set))
	r.ECE.Mean, r.ECEBefore.Mean = eval.ECE(r.Reliability), eval.ECE(r.ReliabilityBefore)
}

// Uncalibrated returns the probabilities of an answer at temperature 1.
func Uncalibrated(p *infer.Predictor, answer *eval.Answer, set *eval.Set) []*graph.Dense {
	before := *p
	before.Calibration.Temperature, before.Calibration.Temperatures = 1, nil
	if p.Propagation == nil {
		return calibrate.Support{Task: set.Task, Logits: answer.Logits}.Probabilities(before.Calibration)
	}
	return eval.Run(&before, set).Probabilities
}

// alonePropagation is a propagation without the model.
type alonePropagation struct{ infer.Propagation }

// Predict returns F, n×C, twice.
func (p alonePropagation) Predict(b *attach.Batch) (logits, probabilities *graph.Dense) {
	f := p.Propagate(b)
	return f, f
}

// Footprint is the memory in bytes that a deployment takes for T's nodes where it serves: in each consumer, and in
// Redis.
type Footprint struct{ Memory, Stored int64 }

// Keeper measures the memory of M, ids included, in bytes.
type Keeper interface {
	// Held returns the memory of M in a consumer. Nothing else may allocate meanwhile.
	Held(m *artifact.Mapping) int64
	// Stored returns the memory of M in Redis.
	Stored(m *artifact.Mapping) int64
}

// Footprint measures the memory of M with the ids of T's nodes. T's own tables are kept by the same ids and have no
// form in Redis: the bytes of ids and tables are counted.
func (p *Deployment) Footprint(keeper Keeper, ids []string) Footprint {
	if p.Through != nil {
		m := &artifact.Mapping{IDs: ids, Rows: p.Through}
		return Footprint{Memory: keeper.Held(m), Stored: keeper.Stored(m)}
	}
	only := &artifact.Mapping{IDs: ids, Rows: &graph.CSR{Rows: len(ids), Cols: 1, RowPtr: make([]int, len(ids)+1)}}
	out := Footprint{Memory: p.Kept + keeper.Held(only), Stored: p.Kept}
	for _, id := range ids {
		out.Stored += int64(len(id))
	}
	return out
}
