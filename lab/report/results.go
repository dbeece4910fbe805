package report

import (
	"slices"
	"strings"

	"rivulet/artifact"
	"rivulet/infer/propagation"
	"rivulet/trainer/eval"
)

// column is a figure of a row of the results.
type column struct {
	head string
	of   func(r *eval.Result) string
}

// results shows the rows in two tables: quality and cost.
func (p *Page) results() section {
	s := section{ID: "results", Title: "Results"}
	if len(p.Results) == 0 {
		s.Missing = "No method has been evaluated. trainer eval --data DIR --json evaluates them, and trainer report " +
			"--results FILE draws what it prints."
		return s
	}
	rows := p.rowsOnce()
	s.Text = []string{"O is the original graph T, S the synthetic graph; O→S reads: fitted on T, deployed on S. Whole " +
		"is O→O. Graph batches " +
		"keep the edges among arrivals, node batches drop them. A figure after ± is the sample deviation over seeds. " +
		"Gained:lost are the nodes that a row has right and " +
		"Whole has wrong, and the other way round, in the mean over seeds; p is McNemar's mid-p of them, two-sided, of " +
		"several seeds twice their median."}
	quality := p.quality()
	cost := []column{
		{p.perBatch(), func(r *eval.Result) string { return positive(r.MsPerBatch, significant) }},
		{"full graph, XW kept", func(r *eval.Result) string { return positive(r.MsPerBatchKept, significant) }},
		{"two-hop neighbourhood only", func(r *eval.Result) string { return positive(r.MsPerBatchNear, significant) }},
		{"propagation alone", func(r *eval.Result) string { return positive(r.PropagationMs, significant) }},
		{"inference memory", func(r *eval.Result) string { return positive(float64(r.InferenceBytes), bytesText) }},
		{"with M in the consumer", func(r *eval.Result) string { return positive(withM(r), bytesText) }},
		{"and M in Redis", func(r *eval.Result) string { return positive(withRedis(r), bytesText) }},
		{"least for T's nodes", func(r *eval.Result) string { return positive(float64(r.KeptBytes), bytesText) }},
		{"training s", func(r *eval.Result) string { return positive(r.TrainSeconds, significant) }},
	}
	s.Tables = append(s.Tables, rowTable("Predictions on the test nodes", rows, quality), rowTable("Cost", rows, cost))
	return s
}

// quality are the columns of the figures of the task.
func (p *Page) quality() []column {
	calibration := []column{
		{"calibration error % before", func(r *eval.Result) string { return percents(r.ECEBefore) }},
		{"after temperature", func(r *eval.Result) string { return percents(r.ECE) }},
		{"weight decay", func(r *eval.Result) string { return number(r.WeightDecay) }},
	}
	switch first := p.Results[0]; {
	case first.Labels != nil:
		return append([]column{
			{"micro F1 %", func(r *eval.Result) string { return percents(r.Labels.MicroF1) }},
			{"macro F1 %", func(r *eval.Result) string { return percents(r.Labels.MacroF1) }},
			{"mean average precision %", func(r *eval.Result) string { return percents(r.Labels.MAP) }},
		}, calibration...)
	case first.Links != nil:
		return []column{
			{"MRR %", func(r *eval.Result) string { return percents(r.Links.MRR) }},
			{"hits@10 %", func(r *eval.Result) string { return percents(r.Links.Hits10) }},
			calibration[2],
		}
	case first.Numbers != nil:
		return []column{
			{"R² %", func(r *eval.Result) string { return percents(r.Numbers.R2) }},
			{"mean absolute error", func(r *eval.Result) string { return r.Numbers.Errors() }},
			{"in interval %", func(r *eval.Result) string { return percents(r.Numbers.Covered) }},
			calibration[2],
		}
	}
	return append([]column{
		{"accuracy %", func(r *eval.Result) string { return percents(r.Accuracy) }},
		{"macro F1 %", func(r *eval.Result) string { return percents(r.MacroF1) }},
		{"equal to Whole %", func(r *eval.Result) string { return measured(r.Agreement) }},
		{"gained:lost against Whole", func(r *eval.Result) string { return dash(r.VersusWhole.Counts()) }},
		{"p", func(r *eval.Result) string { return dash(r.VersusWhole.Value()) }},
		{"changed by batching %", func(r *eval.Result) string { return percents(r.ChangedByBatching) }},
	}, calibration...)
}

// keys are the columns that identify a row.
var keys = []column{
	{"method", methodOf},
	{"model", func(r *eval.Result) string { return r.Model }},
	{"setting", settingOf},
	{"attachment", func(r *eval.Result) string { return r.Attachment }},
	{"batch", func(r *eval.Result) string { return r.Batch }},
	{"calibration", func(r *eval.Result) string { return r.Calibration }},
	{"seeds", func(r *eval.Result) string { return seedText(r.Seeds) }},
}

var sizes = []column{
	{"N'", func(r *eval.Result) string { return positive(float64(r.SyntheticNodes), number) }},
	{"N'/N %", func(r *eval.Result) string { return positive(100*r.Ratio, significant) }},
}

// rowsOnce returns the results with Whole's rows once, which have no S: studies repeat them for each method and
// size.
func (p *Page) rowsOnce() []eval.Result {
	var out []eval.Result
	at := map[eval.Key]int{}
	for _, r := range p.Results {
		if r.Setting != eval.OtoO {
			out = append(out, r)
			continue
		}
		r.Method, r.SyntheticNodes, r.Ratio = "Whole", 0, 0
		k, known := at[r.Key()]
		switch {
		case !known:
			at[r.Key()] = len(out)
			out = append(out, r)
		case len(r.Seeds) > len(out[k].Seeds):
			out[k] = r
		}
	}
	return out
}

// rowTable returns a table of results. A column with the same value in every row goes into the caption; one that
// was never measured is left out.
func rowTable(title string, results []eval.Result, figures []column) *table {
	t := &table{Caption: title, Rows: make([][]string, len(results))}
	var same []string
	add := func(c column, keep func(values []string) bool) bool {
		values := make([]string, len(results))
		for k := range results {
			values[k] = c.of(&results[k])
		}
		if !keep(values) {
			if values[0] != "" && values[0] != "–" {
				same = append(same, c.head+" "+values[0])
			}
			return false
		}
		t.Head = append(t.Head, c.head)
		for k, v := range values {
			t.Rows[k] = append(t.Rows[k], v)
		}
		return true
	}
	for k, c := range keys {
		if add(c, func(values []string) bool { return k == 0 || !allEqual(values) }) {
			t.Texts++
		}
	}
	for _, c := range sizes {
		add(c, func(values []string) bool { return !allEqual(values) })
	}
	for _, c := range figures {
		add(c, func(values []string) bool {
			return !allEqual(values) || (values[0] != "–" && values[0] != "0" && values[0] != "0.00")
		})
	}
	if len(same) > 0 {
		t.Caption += ". Every row: " + strings.Join(same, ", ")
	}
	return t
}

func allEqual(values []string) bool {
	for _, v := range values {
		if v != values[0] {
			return false
		}
	}
	return true
}

// methodOf returns the method under which a row is shown: Whole has none, whatever run made the row.
func methodOf(r *eval.Result) string {
	if r.Setting == eval.OtoO {
		return "Whole"
	}
	return r.Method
}

func settingOf(r *eval.Result) string {
	out := strings.ReplaceAll(r.Setting, "->", "→")
	if r.SharedM {
		out += ", shared M"
	}
	if r.Own {
		out += ", own features"
	}
	return out
}

// isPlain reports whether there is no propagation.
func isPlain(r *eval.Result) bool { return r.Calibration == propagation.None || r.Calibration == "" }

func onS(r *eval.Result) bool {
	return slices.Contains([]string{eval.OtoS, eval.StoS, eval.StoSLabels}, r.Setting)
}

func percent(v float64) string { return fixed(v, 2) }

func percents(s eval.Spread) string { return spreadText(s, percent) }

// measured returns a share that is never exactly 0 if it was measured.
func measured(s eval.Spread) string {
	if s == (eval.Spread{}) {
		return "–"
	}
	return percents(s)
}

// dash returns a text of package eval with this page's sign for figures that were not measured.
func dash(text string) string {
	if text == "-" {
		return "–"
	}
	return text
}

func positive(v float64, text func(float64) string) string {
	if !(v > 0) {
		return "–"
	}
	return text(v)
}

// whole returns the row of Whole for a model in a kind of batch, joint and of the most seeds; nil if there is none.
func (p *Page) whole(model, batch string) *eval.Result {
	var best *eval.Result
	for k := range p.Results {
		r := &p.Results[k]
		if r.Setting == eval.OtoO && r.Attachment != artifact.AttachFrozen && isPlain(r) && r.Model == model &&
			r.Batch == batch && (best == nil || len(r.Seeds) > len(best.Seeds)) {
			best = r
		}
	}
	return best
}

// distinct returns the values of rows in the order in which they first appear.
func distinct(rows []eval.Result, of func(r *eval.Result) string) []string {
	var out []string
	seen := map[string]bool{}
	for k := range rows {
		if v := of(&rows[k]); !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}
