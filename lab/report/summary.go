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
			(best == nil || scoreOf(r).Mean > scoreOf(best).Mean) {
			best = r
		}
	}
	if best == nil {
		return ""
	}
	score, name := best.Score()
	of := "answers %s%% of the test nodes right"
	if name != "accuracy" {
		of = "has a " + name + " of %s%% on the test nodes"
	}
	text := fmt.Sprintf("Method %s with %d synthetic nodes "+of+", each on its own (model %s, %s)",
		best.Method, best.SyntheticNodes, percents(score), best.Model, seedsText(len(best.Seeds)))
	if whole := p.whole(best.Model, best.Batch); whole != nil {
		text += fmt.Sprintf("; the whole graph %s%%", percents(scoreOf(whole)))
	}
	return text + "."
}

// scoreOf is the task's score of a row.
func scoreOf(r *eval.Result) eval.Spread {
	score, _ := r.Score()
	return score
}

// scoreName is the name of the task's score; accuracy where nothing was measured.
func (p *Page) scoreName() string {
	if len(p.Results) == 0 {
		return "accuracy"
	}
	_, name := p.Results[0].Score()
	return name
}

func seedsText(n int) string {
	if n == 1 {
		return "one seed"
	}
	return fmt.Sprintf("mean of %d seeds ± deviation", n)
}
