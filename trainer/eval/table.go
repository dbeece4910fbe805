package eval

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes results for a person, a line for each deployment with graph and node batches side by side; MB is
// inference memory in graph batches.
func WriteTable(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "model\tsetting\tcalibration\tgraph %\tnode %\tgraph ms/batch\tnode ms/batch\tMB\t")
	type key struct {
		model, setting, calibration string
		shared                      bool
	}
	rows := map[key]map[string]Result{}
	var order []key
	for _, r := range results {
		k := key{r.Model, r.Setting, r.Calibration, r.SharedM}
		if rows[k] == nil {
			rows[k] = map[string]Result{}
			order = append(order, k)
		}
		rows[k][r.Batch] = r
	}
	for _, k := range order {
		g, n := rows[k]["graph"], rows[k]["node"]
		setting := k.setting
		if k.shared {
			setting += " shared M"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", k.model, setting, k.calibration, g.Accuracy.Mean, n.Accuracy.Mean,
			g.MsPerBatch, n.MsPerBatch, float64(g.InferenceBytes)/1e6)
	}
	return t.Flush()
}
