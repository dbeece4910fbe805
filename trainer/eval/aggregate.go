package eval

import (
	"math"
	"slices"
)

// OverSeeds joins rows of one key that were measured with one seed each, in the order in which keys first appear:
// means and sample deviations of shares, means of times and bytes, sums of counts.
func OverSeeds(rows []Result) []Result {
	groups := map[Key][]Result{}
	var order []Key
	for _, r := range rows {
		k := r.Key()
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	out := make([]Result, 0, len(order))
	for _, k := range order {
		out = append(out, joined(groups[k]))
	}
	return out
}

func joined(rows []Result) Result {
	out := rows[0]
	joinSpreads(rows, out.spreads(), (*Result).spreads)
	mean := func(of func(r *Result) float64) float64 { return SpreadOf(values(rows, of)).Mean }
	out.MsPerBatch = mean(func(r *Result) float64 { return r.MsPerBatch })
	out.MsPerBatchKept = mean(func(r *Result) float64 { return r.MsPerBatchKept })
	out.MsPerBatchNear = mean(func(r *Result) float64 { return r.MsPerBatchNear })
	out.PropagationMs = mean(func(r *Result) float64 { return r.PropagationMs })
	out.TrainSeconds = mean(func(r *Result) float64 { return r.TrainSeconds })
	out.InferenceBytes = int64(mean(func(r *Result) float64 { return float64(r.InferenceBytes) }))
	out.HeldBytes = int64(mean(func(r *Result) float64 { return float64(r.HeldBytes) }))
	out.StoredBytes = int64(mean(func(r *Result) float64 { return float64(r.StoredBytes) }))
	out.KeptBytes = int64(mean(func(r *Result) float64 { return float64(r.KeptBytes) }))
	out.Scores = joinedScores(rows)
	out.Seeds, out.WeightDecays = nil, nil
	served := 0
	for _, r := range rows {
		if r.Served {
			served++
		}
		out.Seeds = append(out.Seeds, r.Seeds...)
		out.WeightDecays = append(out.WeightDecays, r.WeightDecays...)
	}
	out.Served = 2*served >= len(rows)
	out.VersusWhole = joinedPairs(rows)
	out.WeightDecay = mostFrequent(out.WeightDecays)
	out.Confusion = summed(rows)
	out.Reliability = pooled(rows, func(r *Result) []Bin { return r.Reliability })
	out.ReliabilityBefore = pooled(rows, func(r *Result) []Bin { return r.ReliabilityBefore })
	return out
}

// joinSpreads sets each score to the mean and the deviation over the rows. of returns the scores of a row, in the same
// order.
func joinSpreads(rows []Result, scores []*Spread, of func(r *Result) []*Spread) {
	for k, to := range scores {
		*to = SpreadOf(values(rows, func(r *Result) float64 { return of(r)[k].Mean }))
	}
}

func values(rows []Result, of func(r *Result) float64) []float64 {
	out := make([]float64, len(rows))
	for k := range rows {
		out[k] = of(&rows[k])
	}
	return out
}

// SpreadOf returns the mean and the sample deviation of values.
func SpreadOf(values []float64) Spread {
	var s Spread
	for _, v := range values {
		s.Mean += v / float64(len(values))
	}
	if len(values) > 1 {
		sum := 0.0
		for _, v := range values {
			sum += (v - s.Mean) * (v - s.Mean)
		}
		s.Std = math.Sqrt(sum / float64(len(values)-1))
	}
	return s
}

// mostFrequent returns the value that occurs most often, the largest among equals; 0 for none.
func mostFrequent(values []float64) float64 {
	best, most := 0.0, 0
	for _, v := range values {
		n := 0
		for _, w := range values {
			if v == w {
				n++
			}
		}
		if n > most || (n == most && v > best) {
			best, most = v, n
		}
	}
	return best
}

func summed(rows []Result) [][]int {
	var out [][]int
	for _, r := range rows {
		for c, row := range r.Confusion {
			if len(out) <= c {
				out = append(out, make([]int, len(row)))
			}
			for k, n := range row {
				out[c][k] += n
			}
		}
	}
	return out
}

// pooled returns the bins of all rows together.
func pooled(rows []Result, of func(r *Result) []Bin) []Bin {
	out := slices.Clone(of(&rows[0]))
	for i := range rows[1:] {
		for k, b := range of(&rows[1+i]) {
			n := out[k].Count + b.Count
			if n == 0 {
				continue
			}
			share := float64(b.Count) / float64(n)
			out[k].Confidence += share * (b.Confidence - out[k].Confidence)
			out[k].Accuracy += share * (b.Accuracy - out[k].Accuracy)
			out[k].Count = n
		}
	}
	return out
}
