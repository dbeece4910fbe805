package report

import (
	"math"
	"math/rand/v2"

	"rivulet/trainer/eval"
)

// sample returns a page with everything on it, drawn from a seed.
func sample(classes int) *Page {
	r := rand.New(rand.NewPCG(7, 11))
	p := &Page{Title: "Coauthor CS: methods, models and the learned run", Batch: 1000,
		Command: "trainer report --data ../shared/data/coauthor_cs --methods solved,learned,vng --ratios " +
			"0.0025,0.005,0.01 --seeds 3 --out out/report.html",
		Options: []Option{{"preprocess", "auto (l2-center)"}, {"entries k", "4"}},
		Data: Data{Name: "coauthor_cs", Fingerprint: "sha256:3f9c1a2b77aa01c4", Nodes: 9166, Edges: 81894 / 2, Features: 6805,
			Classes: classes, Test: 3667},
		Heat: &Heat{Before: make([][]float64, classes), After: make([][]float64, classes)}}
	for c := range classes {
		p.Classes = append(p.Classes, []string{"Neural_Networks", "Theory", "Case_Based", "Genetic_Algorithms",
			"Reinforcement", "", "Bayes"}[c%7])
	}
	for c := range classes {
		p.Heat.Before[c], p.Heat.After[c] = make([]float64, classes), make([]float64, classes)
		for k := range classes {
			p.Heat.After[c][k] = 0.01 * r.Float64()
		}
		p.Heat.Before[c][c] = 0.1 + 0.2*r.Float64()
		p.Heat.After[c][c] = 0.1 + 0.1*r.Float64()
	}
	p.Results = sampleResults(r, classes)
	p.Learned = &LearnedCourse{Seed: 1, SyntheticNodes: 92, Gra: sampleLosses(r, 3000, 6), Str: sampleLosses(r, 3000, 1.4),
		Tra: sampleLosses(r, 3000, 3), Ind: sampleLosses(r, 3000, 5)}
	for _, name := range []string{"class-aware", "random"} {
		p.Starts = append(p.Starts, Start{name, sampleLosses(r, 3000, 3), sampleLosses(r, 3000, 5)})
	}
	p.Sparsity = []Sparsity{
		{Method: "learned", Parameter: "δ", Of: "O→S, validation nodes", Nodes: 9166, SyntheticNodes: 92,
			Points: []SparsityPoint{
				{0, 700000, eval.Spread{Mean: 90.1}}, {.01, 120000, eval.Spread{Mean: 90.3}}, {.05, 24000, eval.Spread{Mean: 90.2}},
				{.1, 9800, eval.Spread{Mean: 87.1}}}},
		{Method: "solved", Parameter: "k", Of: "O→S, validation nodes", Nodes: 9166, SyntheticNodes: 92,
			Points: []SparsityPoint{
				{1, 9100, eval.Spread{Mean: 91.3}}, {2, 18000, eval.Spread{Mean: 92.4}}, {4, 36000, eval.Spread{Mean: 92.9}},
				{8, 71000, eval.Spread{Mean: 93.1}}}}}
	for _, parameter := range []string{"λ", "β"} {
		s := Sensitivity{Parameter: parameter, Fixed: "the other at its default (λ = 0.1, β = 100)",
			Of:     "test nodes, graph batches, one seed",
			Values: []float64{0, .01, .1, 1, 10, 100, 1000}}
		for _, name := range []string{"O→S", "S→O", "S→S"} {
			line := SensitivityLine{Name: name}
			for range s.Values {
				line.Accuracy = append(line.Accuracy, eval.Spread{Mean: 88 + 4*r.Float64(), Std: r.Float64()})
			}
			s.Lines = append(s.Lines, line)
		}
		p.Sensitivity = append(p.Sensitivity, s)
	}
	return p
}

func sampleLosses(r *rand.Rand, n int, from float64) []float64 {
	out := make([]float64, n)
	for k := range out {
		out[k] = from * (0.05 + math.Exp(-float64(k)/400)) * (0.8 + 0.4*r.Float64())
	}
	return out
}

func sampleResults(r *rand.Rand, classes int) []eval.Result {
	var out []eval.Result
	add := func(method, setting, batch string, shared bool, nodes int, accuracy, ms, near float64, bytes int64) {
		attachment := "frozen"
		if near > 0 {
			attachment = "joint"
		}
		row := eval.Result{Method: method, Model: "sgc", Setting: setting, SharedM: shared, Attachment: attachment,
			Batch: batch, Calibration: "none",
			SyntheticNodes: nodes, Ratio: float64(nodes) / 9166, Seeds: []uint64{1, 2, 3},
			Accuracy: eval.Spread{Mean: accuracy, Std: 0.1 + r.Float64()},
			MacroF1:  eval.Spread{Mean: accuracy - 3, Std: 0.4}, Agreement: eval.Spread{Mean: 98, Std: .2},
			ECE:       eval.Spread{Mean: 1.4, Std: .1},
			ECEBefore: eval.Spread{Mean: 5.2, Std: .3}, WeightDecay: 1e-3, WeightDecays: []float64{1e-3, 1e-3, 1e-2},
			MsPerBatch: ms, MsPerBatchNear: near,
			MsPerBatchKept: near * 1.4, InferenceBytes: bytes, HeldBytes: 1_300_000, StoredBytes: 400_000,
			KeptBytes: int64(nodes) * 1000, TrainSeconds: 1.7 + r.Float64()}
		if setting != eval.OtoO {
			row.VersusWhole = &eval.Pairing{Better: []int{34, 30, 29}, Worse: []int{21, 22, 26}, P: 0.0425}
		}
		for c := range classes {
			row.Confusion = append(row.Confusion, make([]int, classes))
			for k := range classes {
				row.Confusion[c][k] = r.IntN(6)
			}
			row.Confusion[c][c] = 100 + r.IntN(200)
		}
		for k := range eval.ReliabilityBins {
			middle := (float64(k) + 0.5) / eval.ReliabilityBins
			b := eval.Bin{Count: 10 + r.IntN(500), Confidence: middle, Accuracy: middle * (0.9 + 0.1*r.Float64())}
			if k < 2 {
				b = eval.Bin{}
			}
			row.Reliability = append(row.Reliability, b)
			b.Accuracy *= 0.8
			row.ReliabilityBefore = append(row.ReliabilityBefore, b)
		}
		out = append(out, row)
	}
	for _, batch := range []string{"graph", "node"} {
		add("solved", eval.OtoO, batch, false, 23, 92.71, 213.4, 38.2, 412_000_000)
		for i, nodes := range []int{23, 46, 92} {
			for k, method := range []string{"solved", "learned", "vng", "herding", "cluster"} {
				add(method, eval.OtoS, batch, false, nodes, 88+1.2*float64(i)+3*r.Float64(), 0.8+0.3*float64(i+k), 0,
					int64(3e6*(1+float64(i+k))))
				if k < 2 {
					add(method, eval.StoS, batch, false, nodes, 87+1.2*float64(i)+3*r.Float64(), 0.8, 0, 3e6)
					add(method, eval.StoO, batch, false, nodes, 87+1.2*float64(i)+3*r.Float64(), 210, 40, 4e8)
				}
			}
		}
	}
	return out
}
