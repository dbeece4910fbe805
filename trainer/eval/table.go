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

func versus(l *line, of func(p *Pairing) string) string {
	return of(l.graph.VersusWhole) + "/" + of(l.node.VersusWhole)
}

// spread returns a mean, with the deviation if there are several seeds.
func spread(s Spread, seeds int) string {
	if seeds > 1 {
		return fmt.Sprintf("%.2f ±%.2f", s.Mean, s.Std)
	}
	return fmt.Sprintf("%.2f", s.Mean)
}

func setting(r *Result) string {
	switch {
	case r.SharedM:
		return r.Setting + " shared M"
	case r.Own:
		return r.Setting + " own"
	}
	return r.Setting
}

// with returns the memory of inference and more; "-" if it was not measured.
func (r *Result) with(more int64) string {
	if r.InferenceBytes == 0 {
		return "-"
	}
	return bytesText(r.InferenceBytes + more)
}

// bytesText returns megabytes; "-" for bytes that were not measured.
func bytesText(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(n)/1e6)
}

// msText returns milliseconds with the digits that matter; "-" for 0.
func msText(ms float64) string {
	switch {
	case ms == 0:
		return "-"
	case ms < 10:
		return fmt.Sprintf("%.2f", ms)
	}
	return fmt.Sprintf("%.1f", ms)
}

// Columns of the text tables: settings, scores of the task, comparisons of classes, and costs. Two figures in one cell
// are for graph and node batches; times and memory are for graph batches.
var settingColumns = []column{
	{"", func(l *line) string {
		if l.graph.Served {
			return Mark
		}
		return ""
	}},
	{"method", func(l *line) string { return l.graph.Method }},
	{"N'", func(l *line) string { return strconv.Itoa(l.graph.SyntheticNodes) }},
	{"model", func(l *line) string { return l.graph.Model }},
	{"setting", func(l *line) string { return setting(&l.graph) }},
	{"attachment", func(l *line) string { return l.graph.Attachment }},
	{"calibration", func(l *line) string { return l.graph.Calibration }},
	{"decay", func(l *line) string { return strconv.FormatFloat(l.graph.WeightDecay, 'g', 3, 64) }},
}

// comparisonColumns compare classes with those of Whole, and of other batches.
var comparisonColumns = []column{
	{"as Whole %", func(l *line) string { return both(l, func(r *Result) Spread { return r.Agreement }) }},
	{"gain:loss", func(l *line) string { return versus(l, (*Pairing).Counts) }},
	{"p", func(l *line) string { return versus(l, (*Pairing).Value) }},
	{"rebatched %", func(l *line) string { return both(l, func(r *Result) Spread { return r.ChangedByBatching }) }},
}

var errorColumn = column{"ECE", func(l *line) string { return both(l, func(r *Result) Spread { return r.ECE }) }}

var costColumns = []column{
	{"ms/batch", func(l *line) string { return msText(l.graph.MsPerBatch) }},
	{"kept ms", func(l *line) string { return msText(l.graph.MsPerBatchKept) }},
	{"2-hop ms", func(l *line) string { return msText(l.graph.MsPerBatchNear) }},
	{"LP/EP ms", func(l *line) string { return msText(l.graph.PropagationMs) }},
	{"MB", func(l *line) string { return bytesText(l.graph.InferenceBytes) }},
	{"MB+M", func(l *line) string { return l.graph.with(l.graph.HeldBytes) }},
	{"MB+M+Redis", func(l *line) string { return l.graph.with(l.graph.HeldBytes + l.graph.StoredBytes) }},
	{"train s", func(l *line) string { return fmt.Sprintf("%.1f", l.graph.TrainSeconds) }},
}

// Mark stands before the row that is served.
const Mark = "*"

// Legend describes how the columns of the tables are to be read.
const Legend = Mark + `           the row that consumers serve: the first model, fitted on the original graph and
            deployed on the synthetic one (O->S), with the propagation that validation chose among those here, of each
            method and size that makes an artifact
setting     where weights were fitted -> where they are deployed: O the original graph, S the synthetic one
own         a small model of the arrival's own features answers beside the model, where validation gains by it
Two figures in a cell are of graph and of node batches; ms and MB are of graph batches.
as Whole    share of predictions equal to Whole's (O->O, joint), in the same batches
gain:loss   nodes that are right here and wrong in Whole, and the other way round: means over seeds
p           McNemar's mid-p of these counts, two-sided: small where the difference to Whole is no accident; of
            several seeds, which see the same nodes, twice the median
R²          of a task of numbers: share of their variance that is explained, the mean over the outputs
MAE         mean absolute error of each output, in its unit; in interval: share of numbers in the interval of their
            prediction, which is made to hold 90 of 100
MRR         of a task of links, percent: a tenth of the edges between test nodes and candidates is held out, and each of
            these candidates is ranked among those that are no neighbours of the node; the mean of 1/rank; hits@k: share
            of ranks up to k; popularity ranks by degree, Adamic-Adar by neighbours that both have
micro F1    of a task of labels, percent: all nodes' labels counted together; macro F1: the mean over the labels; mAP:
            the mean over the labels of the average precision of nodes ranked by the label's probability
rebatched   share of predictions that change in shuffled batches of a tenth of the size
kept ms     Whole with XW of the first layer kept between batches; 2-hop ms: the same over the batch's two-hop
            neighbourhood alone
MB          graph, tables, weights and what a batch allocates, on S without M; +M: and M as a consumer holds it, with
            its ids; +Redis: and what Redis holds of M. Frozen on T (cached) the tables of T's nodes stand for M.
            Whole is counted without ids
`

// WriteTable writes results for a terminal, a line for each deployment; [Legend] explains its columns.
func WriteTable(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	columns := columnsOf(results)
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
	columns := columnsOf(results)
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
	first := &Result{}
	if len(results) > 0 {
		first = &results[0]
	}
	head, _ := csvRecord(first)
	_ = out.Write(head) // Error tells
	for k := range results {
		_, record := csvRecord(&results[k])
		_ = out.Write(record)
	}
	out.Flush()
	return out.Error()
}

// csvRecord returns the names and the values of a row.
func csvRecord(r *Result) (names, values []string) {
	put := func(name string, value any) {
		if v, ok := value.(float64); ok {
			value = strconv.FormatFloat(v, 'g', -1, 64)
		}
		names, values = append(names, name), append(values, fmt.Sprint(value))
	}
	putSpreads := func(of []*Spread, names ...string) {
		for k, name := range names {
			put(name+"_mean", of[k].Mean)
			put(name+"_std", of[k].Std)
		}
	}
	put("method", r.Method)
	put("model", r.Model)
	put("setting", r.Setting)
	put("shared_m", r.SharedM)
	put("attachment", r.Attachment)
	put("batch", r.Batch)
	put("calibration", r.Calibration)
	put("own", r.Own)
	put("synthetic_nodes", r.SyntheticNodes)
	put("ratio", r.Ratio)
	put("seeds", strings.Trim(fmt.Sprint(r.Seeds), "[]"))
	r.putClasses(put)
	putSpreads(r.spreads(), "agreement", "changed_by_batching", "ece", "ece_before")
	put("weight_decay", r.WeightDecay)
	put("weight_decays", strings.Trim(fmt.Sprint(r.WeightDecays), "[]"))
	put("ms_per_batch", r.MsPerBatch)
	put("ms_per_batch_kept", r.MsPerBatchKept)
	put("ms_per_batch_neighbourhood", r.MsPerBatchNear)
	put("propagation_ms_per_batch", r.PropagationMs)
	put("inference_bytes", r.InferenceBytes)
	put("held_bytes", r.HeldBytes)
	put("stored_bytes", r.StoredBytes)
	put("kept_bytes", r.KeptBytes)
	put("train_seconds", r.TrainSeconds)
	for k, value := range r.VersusWhole.record() {
		put([]string{"gain", "loss", "p"}[k], value)
	}
	r.putScores(put)
	return names, values
}
