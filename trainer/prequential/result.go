package prequential

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Columns of a result, see the package documentation.
const (
	TNever = iota
	SNever
	SGrown
	SScheduled
	SAlarm
	Whole
	columns
)

// Columns are the names of the columns.
var Columns = [columns]string{"T never", "S never", "S grown", "S each chunk", "S by alarm", "Whole retrained"}

// Result is a stream judged in its order. Accuracies and shares are in percent.
type Result struct {
	Order  string    `json:"order"`       // time or walk
	Seed   uint64    `json:"seed"`        // of the trainings, and of the walk
	First  int       `json:"first"`       // nodes of the start
	Delay  int       `json:"label_delay"` // in chunks
	Nodes  int       `json:"synthetic_nodes"`
	Names  []string  `json:"columns"`
	Mean   []float64 `json:"accuracy"` // over all labelled arrivals, by column
	Chunks []Chunk   `json:"chunks"`
}

// Chunk is a part of the stream.
type Chunk struct {
	Arrivals int       `json:"arrivals"`
	Labelled int       `json:"labelled"` // arrivals that have a class, sooner or later
	Accuracy []float64 `json:"accuracy"` // of these, by column
	// Known is the share of the edges to nodes before the arrival whose other end is known, by column.
	Known     []float64 `json:"known"`
	Judged    *Figures  `json:"judged,omitempty"`    // of the version of S by alarm, before the chunk
	Refreshed bool      `json:"refreshed,omitempty"` // S by alarm was trained anew before the chunk
}

// Refreshes returns how often S was trained anew after the start: by alarm, and each chunk.
func (r *Result) Refreshes() (alarm, scheduled int) {
	for _, c := range r.Chunks {
		if c.Refreshed {
			alarm++
		}
	}
	return alarm, len(r.Chunks) - 1
}

// average sets the means.
func (r *Result) average() {
	r.Names, r.Mean = Columns[:], make([]float64, columns)
	labelled := 0
	for _, c := range r.Chunks {
		labelled += c.Labelled
	}
	for _, c := range r.Chunks {
		for k, v := range c.Accuracy {
			r.Mean[k] += v * float64(c.Labelled) / float64(max(1, labelled))
		}
	}
}

// Print writes the result as a table, a row each chunk.
func (r *Result) Print(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(tab, "chunk\tarrivals\t%s\tknown to the start\tknown to S grown\tknown to Whole\t"+
		"before it, S by alarm had\t\n",
		strings.Join(Columns[:], "\t"))
	row := func(name string, arrivals int, accuracy []float64) {
		_, _ = fmt.Fprintf(tab, "%s\t%d\t", name, arrivals)
		for _, v := range accuracy {
			_, _ = fmt.Fprintf(tab, "%.1f\t", v)
		}
	}
	all := 0
	for k, c := range r.Chunks {
		row(fmt.Sprint(k+1), c.Arrivals, c.Accuracy)
		_, _ = fmt.Fprintf(tab, "%.0f%%\t%.0f%%\t%.0f%%\t%s\t\n", c.Known[SNever], c.Known[SGrown], c.Known[Whole], c.Judged)
		all += c.Arrivals
	}
	row("all", all, r.Mean)
	_, _ = fmt.Fprint(tab, "\t\t\t\t\n")
	if err := tab.Flush(); err != nil {
		return err
	}
	alarm, scheduled := r.Refreshes()
	_, err := fmt.Fprintf(w, "accuracy in percent; order of %s, seed %d, %d nodes at the start, %d synthetic nodes, "+
		"labels after %d chunks; refreshes: %d by alarm, %d on schedule\n",
		r.Order, r.Seed, r.First, r.Nodes, r.Delay, alarm, scheduled)
	return err
}

// String returns the figures in one line, with the alarms.
func (f *Figures) String() string {
	if f == nil {
		return "-"
	}
	out := fmt.Sprintf("%.1f%% agreement", f.Agreement)
	if f.Labelled > 0 {
		out += fmt.Sprintf(", %.1f of %.1f%% right", f.Accuracy, f.Reference)
	}
	if len(f.Alarms) > 0 {
		out += ": " + strings.Join(f.Alarms, ", ")
	}
	return out
}
