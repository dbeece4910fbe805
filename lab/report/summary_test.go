package report

import (
	"bytes"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/trainer/eval"
)

// The first line names the best row of O→S in node batches, and Whole's of the same model.
func TestSummaryNamesTheBestRow(t *testing.T) {
	row := func(method, setting, batch, calibration string, mean float64) eval.Result {
		r := eval.Result{Method: method, Model: "sgc", Setting: setting, Batch: batch, Calibration: calibration,
			SyntheticNodes: 70,
			Seeds:          []uint64{0, 1}, Accuracy: eval.Spread{Mean: mean, Std: 0.5}, Attachment: "frozen"}
		if setting == eval.OtoO {
			r.Attachment, r.SyntheticNodes = "joint", 0
		}
		return r
	}
	p := &Page{Title: "t", Results: []eval.Result{row("solved", eval.OtoO, "node", "none", 76.8),
		row("random", eval.OtoS, "node", "none", 60),
		row("solved", eval.OtoS, "node", "none", 76.1), row("vng", eval.OtoS, "node", "lp", 90),
		row("vng", eval.OtoS, "graph", "none", 91),
		row("vng", eval.StoS, "node", "none", 92)}}
	const want = "Method solved with 70 synthetic nodes answers 76.10 ± 0.50% of the test nodes right, each on its own " +
		"(model sgc, mean of 2 seeds ± deviation); the whole graph 76.80 ± 0.50%."
	if got := p.summary(); got != want {
		t.Errorf("summary is\n%s\nwant\n%s", got, want)
	}
	if got := (&Page{}).summary(); got != "" {
		t.Errorf("summary of nothing is %q", got)
	}
	var page bytes.Buffer
	expect.OK(t, Write(&page, sample(3)))
	text := page.String()
	at, facts := strings.Index(text, `class="summary"`), strings.Index(text, `class="facts"`)
	if at < 0 || at > facts {
		t.Errorf("the summary is at %d, the facts are at %d, want it before them", at, facts)
	}
}
