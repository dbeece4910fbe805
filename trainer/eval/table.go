package eval

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// line is one deployment: its rows in graph and in node batches, side by side.
type line struct{ graph, node Result }

// lines pairs rows that differ only in the kind of batch, in the order in which they first appear.
func lines(results []Result) []line {
	at := map[Key]int{}
	var out []line
	for _, r := range results {
		k := r.Key()
		k.Batch = ""
		n, ok := at[k]
		if !ok {
			n = len(out)
			at[k] = n
			out = append(out, line{r, r})
		}
		if r.Batch == "node" {
			out[n].node = r
		} else {
			out[n].graph = r
		}
	}
	return out
}

// column is a heading and the function that gives its cells.
type column struct {
	name string
	text func(l *line) string
}

func both(l *line, of func(r *Result) Spread) string {
	return fmt.Sprintf("%.1f/%.1f", of(&l.graph).Mean, of(&l.node).Mean)
}

// spread returns a mean, with the deviation if there are several seeds.
func spread(s Spread, seeds int) string {
	if seeds > 1 {
		return fmt.Sprintf("%.2f ±%.2f", s.Mean, s.Std)
	}
	return fmt.Sprintf("%.2f", s.Mean)
}

func setting(r *Result) string {
	if r.SharedM {
		return r.Setting + " shared M"
	}
	return r.Setting
}

// msText returns milliseconds with the digits that matter; nothing for 0.
// bytesText returns "-" for bytes that were not measured.
func bytesText(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(n)/1e6)
}

func msText(ms float64) string {
	switch {
	case ms == 0:
		return "-"
	case ms < 10:
		return fmt.Sprintf("%.2f", ms)
	}
	return fmt.Sprintf("%.1f", ms)
}

// columns are the columns of the text tables. Two figures in one cell are for graph and node batches; times
// and memory are for graph batches.
var columns = []column{
	{"method", func(l *line) string { return l.graph.Method }},
	{"N'", func(l *line) string { return strconv.Itoa(l.graph.SyntheticNodes) }},
	{"model", func(l *line) string { return l.graph.Model }},
	{"setting", func(l *line) string { return setting(&l.graph) }},
	{"attachment", func(l *line) string { return l.graph.Attachment }},
	{"calibration", func(l *line) string { return l.graph.Calibration }},
	{"decay", func(l *line) string { return strconv.FormatFloat(l.graph.WeightDecay, 'g', -1, 64) }},
	{"graph %", func(l *line) string { return spread(l.graph.Accuracy, len(l.graph.Seeds)) }},
	{"node %", func(l *line) string { return spread(l.node.Accuracy, len(l.node.Seeds)) }},
	{"macro F1", func(l *line) string { return both(l, func(r *Result) Spread { return r.MacroF1 }) }},
	{"as Whole %", func(l *line) string { return both(l, func(r *Result) Spread { return r.Agreement }) }},
	{"rebatched %", func(l *line) string { return both(l, func(r *Result) Spread { return r.ChangedByBatching }) }},
	{"ECE", func(l *line) string { return both(l, func(r *Result) Spread { return r.ECE }) }},
	{"ms/batch", func(l *line) string { return msText(l.graph.MsPerBatch) }},
	{"kept ms", func(l *line) string { return msText(l.graph.MsPerBatchKept) }},
	{"2-hop ms", func(l *line) string { return msText(l.graph.MsPerBatchNear) }},
	{"LP/EP ms", func(l *line) string { return msText(l.graph.PropagationMs) }},
	{"MB", func(l *line) string { return bytesText(l.graph.InferenceBytes) }},
	{"MB of M", func(l *line) string { return fmt.Sprintf("%.2f", float64(l.graph.KeptBytes)/1e6) }},
	{"train s", func(l *line) string { return fmt.Sprintf("%.1f", l.graph.TrainSeconds) }},
}

// WriteTable writes results for a terminal, a line for each deployment; "rebatched" is ChangedByBatching.
func WriteTable(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, c := range columns {
		fmt.Fprint(t, c.name, "\t")
	}
	fmt.Fprintln(t)
	for _, l := range lines(results) {
		for _, c := range columns {
			fmt.Fprint(t, c.text(&l), "\t")
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// WriteMarkdown writes the same table as Markdown.
func WriteMarkdown(w io.Writer, results []Result) error {
	var out strings.Builder
	for _, c := range columns {
		out.WriteString("| " + c.name + " ")
	}
	out.WriteString("|\n" + strings.Repeat("|---", len(columns)) + "|\n")
	for _, l := range lines(results) {
		for _, c := range columns {
			out.WriteString("| " + c.text(&l) + " ")
		}
		out.WriteString("|\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// WriteCSV writes a record for each row with a head of the JSON's names; confusion and reliability are left out,
// and lists have blanks between their values.
func WriteCSV(w io.Writer, results []Result) error {
	out := csv.NewWriter(w)
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	head := []string{"method", "model", "setting", "shared_m", "attachment", "batch", "calibration",
		"synthetic_nodes", "ratio", "seeds"}
	spreads := []string{"accuracy", "macro_f1", "agreement", "changed_by_batching", "ece", "ece_before"}
	for _, s := range spreads {
		head = append(head, s+"_mean", s+"_std")
	}
	head = append(head, "weight_decay", "weight_decays", "ms_per_batch", "ms_per_batch_kept",
		"ms_per_batch_neighbourhood",
		"propagation_ms_per_batch", "inference_bytes", "kept_bytes", "train_seconds")
	if err := out.Write(head); err != nil {
		return err
	}
	for _, r := range results {
		record := []string{r.Method, r.Model, r.Setting, strconv.FormatBool(r.SharedM), r.Attachment, r.Batch,
			r.Calibration,
			strconv.Itoa(r.SyntheticNodes), number(r.Ratio), strings.Trim(fmt.Sprint(r.Seeds), "[]")}
		for _, s := range []Spread{r.Accuracy, r.MacroF1, r.Agreement, r.ChangedByBatching, r.ECE, r.ECEBefore} {
			record = append(record, number(s.Mean), number(s.Std))
		}
		record = append(record, number(r.WeightDecay), strings.Trim(fmt.Sprint(r.WeightDecays), "[]"),
			number(r.MsPerBatch),
			number(r.MsPerBatchKept), number(r.MsPerBatchNear), number(r.PropagationMs),
			strconv.FormatInt(r.InferenceBytes, 10),
			strconv.FormatInt(r.KeptBytes, 10), number(r.TrainSeconds))
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
