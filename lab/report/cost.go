package report

import (
	"fmt"
	"math"
	"strings"

	"rivulet/trainer/eval"
)

// cost shows time and memory of inference, O beside S.
func (p *Page) cost() section {
	s := section{ID: "cost", Title: "Time and memory of inference"}
	for _, model := range distinct(p.Results, func(r *eval.Result) string { return r.Model }) {
		for _, batch := range []string{"graph", "node"} {
			rows := p.costRows(model, batch)
			if len(rows) == 0 {
				continue
			}
			id := fmt.Sprintf("cost-%d", len(s.Groups))
			g := group{Title: fmt.Sprintf("%s, %s batches", model, batch)}
			time := bars{id: id + "-time", title: "Time, " + g.Title, x: axis{label: p.perBatch()}, bars: p.timeBars(rows)}
			memory := bars{id: id + "-memory", title: "Memory, " + g.Title,
				x: axis{label: "inference memory", text: roundBytes}, bars: p.memoryBars(rows)}
			for _, b := range []*bars{&time, &memory} {
				b.description = describe(b.bars)
				if f := b.figure(); f.SVG != "" {
					g.Figures = append(g.Figures, f)
				}
			}
			if len(g.Figures) > 0 {
				s.Groups = append(s.Groups, g)
				s.Tables = append(s.Tables, p.timesLess(g.Title, rows))
			}
			break // node batches only if there are no graph batches: they cost nearly the same
		}
	}
	if len(s.Groups) == 0 {
		s.Missing = "No time or memory has been measured. trainer eval --data DIR --json measures both."
		return s
	}
	s.Text = []string{"Whole is timed over the full graph, a forward pass from the features to all logits, as the " +
		"paper does; over the full graph with XW of the " +
		"first layer kept; and over the batch's two-hop neighbourhood only, as a careful engineer would. On S the time " +
		"begins before attachment. Memory is the live heap of the deployed graph, tables and weights and what one batch " +
		"allocates, in three " +
		"figures: without M; with M and its ids as a consumer holds it in memory; and with what Redis holds of M, too. " +
		"For the method cached T's own tables stand for M. Whole is counted without ids in all three. The axes are " +
		"logarithmic."}
	return s
}

// costRows returns Whole and one row of each method and size on S: O→S, or S→S if a method has no other.
func (p *Page) costRows(model, batch string) []*eval.Result {
	type key struct {
		name string
		size int
		own  bool
	}
	var out []*eval.Result
	if whole := p.whole(model, batch); whole != nil {
		out = append(out, whole)
	}
	seen := map[key]bool{}
	for _, setting := range []string{eval.OtoS, eval.StoS} {
		for k := range p.Results {
			r := &p.Results[k]
			if r.Setting != setting || r.Model != model || r.Batch != batch || !isPlain(r) {
				continue
			}
			if id := (key{p.lineName(r), r.SyntheticNodes, r.Own}); !seen[id] {
				seen[id] = true
				out = append(out, r)
			}
		}
	}
	return out
}

func (p *Page) costName(r *eval.Result) string {
	if r.Setting == eval.OtoO {
		return "Whole (O→O)"
	}
	return fmt.Sprintf("%s (%s), N' = %d", p.lineName(r), settingOf(r), r.SyntheticNodes)
}

const (
	colourO    = series + 1
	colourNear = series + 4
	colourS    = series
)

func (p *Page) timeBars(rows []*eval.Result) []bar {
	var out []bar
	for _, r := range rows {
		add := func(name string, ms float64, colour role) {
			out = append(out, bar{name: name, text: significant(ms) + " ms", value: ms, colour: colour})
		}
		if r.Setting == eval.OtoO {
			add(p.costName(r)+", full graph", r.MsPerBatch, colourO)
			add(p.costName(r)+", full graph, XW kept", r.MsPerBatchKept, colourO)
			add(p.costName(r)+", two-hop neighbourhood", r.MsPerBatchNear, colourNear)
			continue
		}
		add(p.costName(r), r.MsPerBatch, colourS)
	}
	return out
}

func (p *Page) memoryBars(rows []*eval.Result) []bar {
	var out []bar
	for _, r := range rows {
		b := bar{name: p.costName(r), text: bytesText(float64(r.InferenceBytes)), value: float64(r.InferenceBytes),
			colour: colourS}
		if r.Setting == eval.OtoO {
			b.colour = colourO
		}
		out = append(out, b)
	}
	return out
}

func describe(all []bar) string {
	out := ""
	for _, b := range all {
		if b.value > 0 {
			out += fmt.Sprintf("%s: %s. ", b.name, b.text)
		}
	}
	return out
}

// timesLess shows the figures as factors of Whole.
func (p *Page) timesLess(title string, rows []*eval.Result) *table {
	t := &table{Caption: "How many times less than Whole, " + title, Texts: 1,
		Head: []string{"deployment", p.perBatch(), "less than the full graph", "less than the neighbourhood",
			"memory without M", "less than Whole", "with M in the consumer", "less", "and M in Redis", "less"}}
	whole := &eval.Result{}
	if rows[0].Setting == eval.OtoO {
		whole = rows[0]
	}
	for _, r := range rows {
		bytes := float64(r.InferenceBytes)
		if r.Setting == eval.OtoO {
			t.Rows = append(t.Rows, []string{p.costName(r) + ", full graph", positive(r.MsPerBatch, significant), "1",
				factor(r.MsPerBatchNear, r.MsPerBatch), positive(bytes, bytesText), "1",
				positive(bytes, bytesText), "1", positive(bytes, bytesText), "1"})
			t.Rows = append(t.Rows, []string{p.costName(r) + ", full graph, XW kept",
				positive(r.MsPerBatchKept, significant),
				factor(r.MsPerBatch, r.MsPerBatchKept), factor(r.MsPerBatchNear, r.MsPerBatchKept), "–", "–", "–", "–", "–", "–"})
			t.Rows = append(t.Rows, []string{p.costName(r) + ", two-hop neighbourhood",
				positive(r.MsPerBatchNear, significant),
				factor(r.MsPerBatch, r.MsPerBatchNear), "1", "–", "–", "–", "–", "–", "–"})
			continue
		}
		t.Rows = append(t.Rows, []string{p.costName(r), positive(r.MsPerBatch, significant),
			factor(whole.MsPerBatch, r.MsPerBatch),
			factor(whole.MsPerBatchNear, r.MsPerBatch), positive(bytes, bytesText),
			factor(float64(whole.InferenceBytes), bytes),
			positive(withM(r), bytesText), factor(float64(whole.InferenceBytes), withM(r)),
			positive(withRedis(r), bytesText), factor(float64(whole.InferenceBytes), withRedis(r))})
	}
	return t
}

// withM returns the memory of inference with M in the consumer, withRedis the same with M in Redis, too; 0 if it
// was not measured.
func withM(r *eval.Result) float64 {
	if r.HeldBytes == 0 {
		return 0
	}
	return float64(r.InferenceBytes + r.HeldBytes)
}

func withRedis(r *eval.Result) float64 {
	if r.HeldBytes == 0 {
		return 0
	}
	return withM(r) + float64(r.StoredBytes)
}

// roundBytes returns a size without zeros after the point.
func roundBytes(n float64) string {
	value, unit, _ := strings.Cut(bytesText(n), " ")
	if strings.Contains(value, ".") {
		value = strings.TrimRight(strings.TrimRight(value, "0"), ".")
	}
	return value + " " + unit
}

func factor(whole, part float64) string {
	f := whole / part
	if !(f > 0) || math.IsInf(f, 0) {
		return "–"
	}
	return significant(f) + "×"
}
