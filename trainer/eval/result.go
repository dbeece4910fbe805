package eval

// Settings name where W was fitted and where it is deployed: O is the original graph T, S the synthetic graph.
const (
	OtoO = "O->O"
	OtoS = "O->S"
	StoO = "S->O"
	StoS = "S->S"
)

// Result is one row of the tables: a method, model and setting with its figures. Accuracies are in percent.
type Result struct {
	Method         string   `json:"method"`
	Model          string   `json:"model"`
	Setting        string   `json:"setting"`
	SharedM        bool     `json:"shared_m"` // S->S only: W_S deployed through W_O's M
	Batch          string   `json:"batch"`    // "graph" keeps the edges among arrivals, "node" drops them
	Calibration    string   `json:"calibration"`
	SyntheticNodes int      `json:"synthetic_nodes"`
	Ratio          float64  `json:"ratio"` // N'/N
	Seeds          []uint64 `json:"seeds"`
	Accuracy       Spread   `json:"accuracy"`
	// MsPerBatch is wall-clock milliseconds of a batch, on S with attachment (see [Time]), on T over the full graph, and
	// MsPerBatchNear the same over the batch's two-hop neighbourhood only.
	MsPerBatch     float64 `json:"ms_per_batch"`
	MsPerBatchNear float64 `json:"ms_per_batch_neighbourhood,omitempty"`
	// InferenceBytes is what [Memory] says.
	InferenceBytes int64 `json:"inference_bytes"`
}

// Spread is a mean over seeds with the sample deviation, 0 for one seed.
type Spread struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
}
