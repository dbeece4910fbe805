package calibrate

import (
	"math"
	"math/rand/v2"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/propagation"
	"rivulet/trainer/eval"
)

// drawn returns labels drawn from softmax(logits/tau), in batches.
func drawn(tau float64, batches, n, classes int) (logits []*graph.Dense, labels [][]int32) {
	rng := rand.New(rand.NewPCG(1, 0))
	for range batches {
		z, y := graph.NewDense(n, classes), make([]int32, n)
		p := make([]float32, classes)
		for i := range n {
			for k := range classes {
				z.Row(i)[k] = float32(4 * rng.NormFloat64())
			}
			infer.Softmax(p, z.Row(i), float32(tau))
			left := rng.Float32()
			for left > p[y[i]] && int(y[i]) < classes-1 {
				left -= p[y[i]]
				y[i]++
			}
		}
		logits, labels = append(logits, z), append(labels, y)
	}
	return logits, labels
}

// Section 6: τ is chosen on the support nodes. Labels drawn at a known τ give it back.
func TestSection6TemperatureIsFound(t *testing.T) {
	for _, tau := range []float64{0.3, 1, 4} {
		logits, labels := drawn(tau, 4, 2000, 5)
		got := float64(Support{Logits: logits, Labels: labels}.Temperature(infer.Calibration{}))
		if math.Abs(got/tau-1) > 0.1 {
			t.Errorf("τ = %v, drawn at %v", got, tau)
		}
	}
}

// τ belongs to the final value: with F mixed in it maximises the likelihood of the published probabilities.
func TestSection6TemperatureOfTheMixture(t *testing.T) {
	logits, labels := drawn(1, 2, 1000, 4)
	var f []*graph.Dense
	for b, z := range logits {
		f = append(f, graph.NewDense(z.Rows, z.Cols))
		for i, y := range labels[b] {
			f[b].Row(i)[(int(y)+i%2)%4] = 1 // right for every other node
		}
	}
	const gamma = .5
	mixed := Support{Logits: logits, F: f, Labels: labels}.Temperature(infer.Calibration{Gamma: gamma})
	at := func(tau float32) float64 {
		return Support{Logits: logits, F: f, Labels: labels}.loss(infer.Calibration{Temperature: tau, Gamma: gamma})
	}
	for _, factor := range []float32{.8, .95, 1.05, 1.25} {
		if at(mixed*factor) < at(mixed) {
			t.Errorf("loss %v at τ = %v, %v at the chosen %v", at(mixed*factor), mixed*factor, at(mixed), mixed)
		}
	}
	plain := Support{Logits: logits, Labels: labels}.Temperature(infer.Calibration{})
	if math.Abs(float64(mixed/plain)-1) < 0.02 {
		t.Errorf("τ = %v with F, %v without: is F in it?", mixed, plain)
	}
	same := Support{Logits: logits, F: f, Labels: labels}.Temperature(infer.Calibration{})
	if math.Abs(float64(same/plain)-1) > 1e-2 {
		t.Errorf("τ = %v with γ = 0, %v without F", same, plain)
	}
}

// γ = 0 is the plain model; a γ that outweighs the softmax is F alone.
func TestSection6MixedAccuracy(t *testing.T) {
	logits, labels := drawn(1, 3, 200, 4)
	set := &eval.Set{Labels: labels}
	var f []*graph.Dense
	answer := &eval.Answer{}
	for b, z := range logits {
		f = append(f, graph.NewDense(z.Rows, z.Cols))
		for i, y := range labels[b] {
			answer.Class = append(answer.Class, int32(infer.ArgMax(z.Row(i))))
			f[b].Row(i)[(int(y)+i%2)%4] = 1 // right for every other node
		}
	}
	at := func(gamma float32) float64 {
		return Support{Logits: logits, F: f, Labels: labels}.Accuracy(infer.Calibration{Temperature: 1,
			Kind: propagation.Labels, Alpha: .5, Gamma: gamma})
	}
	if got, want := at(0), answer.Accuracy(set); got != want {
		t.Errorf("γ = 0 gives %v, the model %v", got, want)
	}
	if got := at(2); got != 50 {
		t.Errorf("γ = 2 gives %v, F alone 50", got)
	}
}
