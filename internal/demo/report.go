package demo

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Report holds the figures of a run; accuracies are in percent. In graph mode the offline figures are taken on the
// micro-batches that the stream formed.
type Report struct {
	Dataset        string `json:"dataset"`
	Mode           string `json:"mode"`
	Nodes          int    `json:"nodes"`           // N
	SyntheticNodes int    `json:"synthetic_nodes"` // N'
	Delivery
	Accuracy        float64 `json:"accuracy"`         // of the stream
	AccuracyOffline float64 `json:"accuracy_offline"` // O→S, by the trainer
	AccuracyWhole   float64 `json:"accuracy_whole"`   // O→O: the model on the original graph
	// WholeBatch is the number of arrivals that were joined to the original graph at a time, without edges among them;
	// 0: as the stream's micro-batches, with these edges.
	WholeBatch      int     `json:"whole_batch,omitempty"`
	TrainSeconds    float64 `json:"train_seconds"` // 0: the artifact was made before
	ArtifactVersion string  `json:"artifact_version"`
	Seed            uint64  `json:"seed"`
}

// Delivery counts the arrivals of a stream by their outcome, with times.
type Delivery struct {
	Arrivals       int     `json:"arrivals"`
	Predicted      int     `json:"predicted"`  // arrivals with a prediction
	Missing        int     `json:"missing"`    // arrivals with neither a prediction nor a dead letter
	Duplicates     int     `json:"duplicates"` // predictions beyond the first of an arrival
	DeadLetters    int     `json:"dead_letters"`
	Rate           float64 `json:"rate"`             // arrivals a second that were sent; 0: as fast as Kafka takes them
	NodesPerSecond float64 `json:"nodes_per_second"` // from the first arrival to the last prediction
	Batches        int     `json:"batches"`
	Latency        Latency `json:"latency_ms"`
	Queueing       Latency `json:"queueing_ms"` // the part of the latency before a micro-batch takes the arrival
	Shares         Shares  `json:"shares"`
}

// Latency is the time from the moment at which an arrival was due (without a rate: handed to the producer) until
// the brokers have acknowledged its prediction, in milliseconds; the commit of its offset comes after that.
type Latency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Shares are the parts of the consumer's lanes' wall-clock time, of 1; Rest is waiting for arrivals and for the
// batch before.
type Shares struct {
	Decode  float64 `json:"decode"`
	Lookup  float64 `json:"lookup"`
	Infer   float64 `json:"infer"` // attachment and model
	Publish float64 `json:"publish"`
	Rest    float64 `json:"rest"`
}

// Print writes the table as text.
func (r *Report) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "accuracy on %d arrivals\t%s batches\t\n", r.Arrivals, r.Mode)
	fmt.Fprintf(t, "  the stream, on %d synthetic nodes\t%.2f%%\t\n", r.SyntheticNodes, r.Accuracy)
	fmt.Fprintf(t, "  the same artifact, offline\t%.2f%%\t\n", r.AccuracyOffline)
	joined := "in the stream's batches"
	switch {
	case r.WholeBatch == 1:
		joined = "each arrival alone"
	case r.WholeBatch > 1:
		joined = fmt.Sprintf("%d arrivals at a time", r.WholeBatch)
	}
	fmt.Fprintf(t, "  the model on the %d nodes that it was trained on, %s\t%.2f%%\t\n", r.Nodes, joined, r.AccuracyWhole)
	r.Delivery.print(t)
	trained := "made before"
	if r.TrainSeconds > 0 {
		trained = fmt.Sprintf("trained in %.1f s", r.TrainSeconds)
	}
	fmt.Fprintf(t, "artifact\t%s, %s, seed %d\t\n", r.ArtifactVersion, trained, r.Seed)
	return t.Flush()
}

func (d *Delivery) print(t io.Writer) {
	sent := "arrivals sent as fast as Kafka takes them: they queue there"
	if d.Rate > 0 {
		sent = fmt.Sprintf("arrivals sent at %.0f a second", d.Rate)
	}
	fmt.Fprintf(t, "delivery\t%d predicted, %d missing, %d duplicates, %d dead letters\t\n", d.Predicted,
		d.Missing, d.Duplicates, d.DeadLetters)
	fmt.Fprintf(t, "throughput\t%.0f nodes/s in %d micro-batches, %s\t\n", d.NodesPerSecond, d.Batches, sent)
	fmt.Fprintf(t, "latency, arrival to published\tp50 %.1f ms, p99 %.1f ms, max %.1f ms\t\n", d.Latency.P50,
		d.Latency.P99, d.Latency.Max)
	fmt.Fprintf(t, "  of it queueing, until a batch is formed\tp50 %.1f ms, p99 %.1f ms, max %.1f ms\t\n", d.Queueing.P50,
		d.Queueing.P99, d.Queueing.Max)
	fmt.Fprintf(t, "consumer's time\tdecode %.0f%%, lookup %.0f%%, infer %.0f%%, publish %.0f%%, rest %.0f%%\t\n",
		100*d.Shares.Decode, 100*d.Shares.Lookup, 100*d.Shares.Infer, 100*d.Shares.Publish, 100*d.Shares.Rest)
}
