package eval

import "rivulet/infer/target"

// Settings name where W was fitted and where it is deployed: O is the original graph T, S the synthetic graph.
const (
	OtoO = "O->O"
	OtoS = "O->S"
	StoO = "S->O"
	StoS = "S->S"
	// StoSLabels is S->S with soft labels of S, which a fit to T's labelled nodes has written.
	StoSLabels = "S->S labels"
)

// Result is one row of the tables: a method, model and setting with its figures, over one seed or several.
// Scores and shares are in percent. Figures that compare classes are 0 for a task without [target.Comparison].
type Result struct {
	Method      string `json:"method"`
	Model       string `json:"model"`
	Setting     string `json:"setting"`
	SharedM     bool   `json:"shared_m"`   // S->S only: W_S deployed through W_O's M
	Attachment  string `json:"attachment"` // "joint" or "frozen"
	Batch       string `json:"batch"`      // "graph" keeps the edges among arrivals, "node" drops them
	Calibration string `json:"calibration"`
	// Served says that consumers of an artifact of this method, model and size answer by this row, where nothing else is
	// said; with several seeds, that this is so for at least half of them.
	Served bool `json:"served,omitempty"`
	// Own says that an expert of the arrivals' own features answers beside the model.
	Own            bool     `json:"own,omitempty"`
	SyntheticNodes int      `json:"synthetic_nodes"`
	Ratio          float64  `json:"ratio"` // N'/N
	Seeds          []uint64 `json:"seeds"`
	// Task is the task of the answers, and Scores how right they are ([target.Task.Score]).
	Task   target.Task    `json:"-"`
	Scores []target.Score `json:"-"`
	// Agreement is the share of predictions equal to the predictions of Whole: the model fitted on T, joined to T, in
	// the same batches.
	Agreement Spread `json:"agreement"`
	// Alone compares the row that is served with Whole where each test node is joined to T alone; nil: it was not
	// measured.
	Alone *Alone `json:"alone,omitempty"`
	// VersusWhole compares the row with Whole node by node; nil for Whole itself.
	VersusWhole *Pairing `json:"versus_whole,omitempty"`
	// ChangedByBatching is the share of predictions that change if arrivals come shuffled in batches of a
	// tenth of the size.
	ChangedByBatching Spread `json:"changed_by_batching"`
	// ECE is the expected calibration error of the published probabilities in 15 bins, ECEBefore the same at
	// temperature 1.
	ECE       Spread `json:"ece"`
	ECEBefore Spread `json:"ece_before"`
	// WeightDecay is the choice of validation for most seeds, WeightDecays the choice for each.
	WeightDecay  float64   `json:"weight_decay"`
	WeightDecays []float64 `json:"weight_decays"`
	// MsPerBatch is wall-clock milliseconds of a batch: on S with attachment (see [Time]), joined to T a forward pass over
	// the full graph, as in the paper (see [infer.Pass]). On T there are two more. MsPerBatchKept is over the full graph
	// too, with the parts kept that no batch changes (XW of the first layer), and only the arrivals' logits.
	// MsPerBatchNear keeps the same and computes the batch's two-hop neighbourhood only. PropagationMs is the time of
	// label or error propagation alone. Costs do not depend on the values of weights: S→O has the costs of O→O.
	MsPerBatch     float64 `json:"ms_per_batch"`
	MsPerBatchKept float64 `json:"ms_per_batch_kept,omitempty"`
	MsPerBatchNear float64 `json:"ms_per_batch_neighbourhood,omitempty"`
	PropagationMs  float64 `json:"propagation_ms_per_batch,omitempty"`
	// InferenceBytes is the result of [Memory]: without anything for T's nodes where the model is on S, and without T's
	// own tables where it is frozen on T. HeldBytes is M besides, as a consumer holds it in memory with its ids,
	// StoredBytes M as Redis holds it; both 0 if they were not measured. For T's own tables (frozen on T) they are the
	// ids as held with M plus the tables, and the bytes of ids and tables alone, as there is no form of them in Redis.
	// KeptBytes is the least for either: eight bytes an entry of M, or the tables.
	InferenceBytes int64 `json:"inference_bytes"`
	HeldBytes      int64 `json:"held_bytes,omitempty"`
	StoredBytes    int64 `json:"stored_bytes,omitempty"`
	KeptBytes      int64 `json:"kept_bytes,omitempty"`
	// TrainSeconds is the wall-clock time of the training behind the row, without evaluation.
	TrainSeconds float64 `json:"train_seconds"`
	// Confusion counts predictions by class: row the label, column the prediction, summed over seeds, C×C.
	Confusion [][]int `json:"confusion,omitempty"`
	// Reliability are the bins from which ECE is computed, pooled over seeds, ReliabilityBefore the bins of ECEBefore.
	Reliability       []Bin `json:"reliability,omitempty"`
	ReliabilityBefore []Bin `json:"reliability_before,omitempty"`
}

// Alone has the figures of test nodes that arrive one at a time, in percent.
type Alone struct {
	Nodes     int     `json:"nodes"`     // that were measured
	Of        int     `json:"of"`        // test nodes that there are
	Accuracy  float64 `json:"accuracy"`  // of the row
	Whole     float64 `json:"whole"`     // of the same model, each node joined to T alone
	Agreement float64 `json:"agreement"` // share of equal answers
}

// Spread is a mean over seeds with the sample deviation, 0 for one seed.
type Spread struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
}

// Key identifies a deployment in one kind of batch; rows that differ only in their seed have the same key.
type Key struct {
	Method, Model, Setting, Attachment, Batch, Calibration string
	SharedM, Own                                           bool
	SyntheticNodes                                         int
}

// Key returns the row's key.
func (r *Result) Key() Key {
	return Key{Method: r.Method, Model: r.Model, Setting: r.Setting, Attachment: r.Attachment, Batch: r.Batch,
		Calibration: r.Calibration, SharedM: r.SharedM, Own: r.Own, SyntheticNodes: r.SyntheticNodes}
}

// spreads are the figures with a deviation, in the order of tables.
func (r *Result) spreads() []*Spread {
	return []*Spread{&r.Agreement, &r.ChangedByBatching, &r.ECE, &r.ECEBefore}
}
