package report

import (
	"fmt"

	"rivulet/trainer/eval"
)

// summary is the page's first line: the best deployment on S in node batches, which is how arrivals are answered,
// beside Whole; "" if none was measured. Calibration is left out, because it moves probabilities more than classes.
func (p *Page) summary() string {
	var best *eval.Result
	for k := range p.Results {
		r := &p.Results[k]
		if r.Setting == eval.OtoS && r.Batch == "node" && isPlain(r) &&
			(best == nil || r.Accuracy.Mean > best.Accuracy.Mean) {
			best = r
		}
	}
	if best == nil {
		return ""
	}
	text := fmt.Sprintf("Method %s with %d synthetic nodes answers %s%% of the test nodes right, each on its own (model %s, %s)",
		best.Method, best.SyntheticNodes, percents(best.Accuracy), best.Model, seedsText(len(best.Seeds)))
	if whole := p.whole(best.Model, best.Batch); whole != nil {
		text += fmt.Sprintf("; the whole graph %s%%", percents(whole.Accuracy))
	}
	return text + "."
}

func seedsText(n int) string {
	if n == 1 {
		return "one seed"
	}
	return fmt.Sprintf("mean of %d seeds ± deviation", n)
}
