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
			graph.Softmax(p, z.Row(i), float32(tau))
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
		got := float64(Support{Logits: logits, Labels: labels}.Temperature(infer.Calibration{}).Value)
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
			f[b].Row(i)[(int(y)+i/2%2)%4] = 1 // right for half of the nodes, of both halves of calibration
		}
	}
	const gamma = .5
	mixed := Support{Logits: logits, F: f, Labels: labels}.Temperature(infer.Calibration{Gamma: gamma}).Value
	at := func(tau float32) float64 {
		loss, _ := sumLosses(Support{Logits: logits, F: f, Labels: labels}.losses(infer.Calibration{Temperature: tau,
			Gamma: gamma}), func(int) bool { return true })
		return loss
	}
	for _, factor := range []float32{.8, .95, 1.05, 1.25} {
		if at(mixed*factor) < at(mixed) {
			t.Errorf("loss %v at τ = %v, %v at the chosen %v", at(mixed*factor), mixed*factor, at(mixed), mixed)
		}
	}
	plain := Support{Logits: logits, Labels: labels}.Temperature(infer.Calibration{}).Value
	if math.Abs(float64(mixed/plain)-1) < 0.02 {
		t.Errorf("τ = %v with F, %v without: is F in it?", mixed, plain)
	}
	same := Support{Logits: logits, F: f, Labels: labels}.Temperature(infer.Calibration{}).Value
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
			answer.Class = append(answer.Class, int32(graph.ArgMax(z.Row(i))))
			f[b].Row(i)[(int(y)+i/2%2)%4] = 1 // right for half of the nodes, of both halves of calibration
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

// narrow are logits of n nodes of two classes, of which so many are wrong, by a margin of 1 to 3.
func narrow(n, wrong int) Support {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	z, y := graph.NewDense(n, 2), make([]int32, n)
	for i := range n {
		z.Row(i)[0] = float32(1 + 2*rng.Float64())
		if (i*7)%n < wrong {
			y[i] = 1
		}
	}
	return Support{Logits: []*graph.Dense{z}, Labels: [][]int32{y}}
}

// Of few nodes, all right, the likelihood has no maximum. τ stays sensible, their loss is not larger than at τ = 1, and
// the surest probabilities stay apart, so that a threshold can tell them apart.
func TestTemperatureOfFewNodes(t *testing.T) {
	for _, n := range []int{1, 2, 5, 20, 40, 200} {
		for _, wrong := range []int{0, 1, n / 10} {
			s := narrow(n, wrong)
			got := s.Temperature(infer.Calibration{})
			if tau := got.Value; !(tau > 0.2 && tau < 3) {
				t.Errorf("τ of %d nodes, %d wrong, is %v", n, wrong, tau)
			}
			all := func(int) bool { return true }
			after, _ := sumLosses(s.losses(infer.Calibration{Temperature: got.Value}), all)
			before, _ := sumLosses(s.losses(infer.Calibration{Temperature: 1}), all)
			if after > before {
				t.Errorf("%d nodes, %d wrong: loss %v at τ = %v, %v at 1", n, wrong, after, got.Value, before)
			}
			c := infer.Calibration{Temperature: got.Value}
			confidence := s.Confidence(c, [2]infer.Calibration{c, c}, 0.7)
			answered := 0
			for _, p := range s.Probabilities(c)[0].Data {
				if p >= 0.5 && p >= confidence.Threshold {
					answered++
				}
			}
			if want := int(math.Ceil(0.7 * float64(n))); answered != want {
				t.Errorf("coverage 0.7 of %d nodes answers %d, want %d", n, answered, want)
			}
		}
	}
	if got := narrow(0, 0).Temperature(infer.Calibration{}); got.Value != 1 {
		t.Errorf("τ of no nodes is %v", got.Value)
	}
}

// τ is 1 where the fit of one half is worse on the other one: here one half is sure and wrong, the other sure and right.
func TestTemperatureThatTheOtherHalfDenies(t *testing.T) {
	s := narrow(40, 0)
	for i := range s.Labels[0] {
		s.Labels[0][i] = int32(i % 2)
	}
	if got := s.Temperature(infer.Calibration{}); got != (Temperature{1, [2]float32{1, 1}}) {
		t.Errorf("τ is %+v, want 1", got)
	}
}

// The error on validation gives each half the temperature of the other one.
func TestConfidenceCrossesTheHalves(t *testing.T) {
	s := narrow(40, 0)
	c := infer.Calibration{Temperature: 1}
	halves := [2]infer.Calibration{{Temperature: 0.01}, {Temperature: 100}}
	got := s.Confidence(c, halves, 0)
	// The nodes of half 1 have the temperature 0.01 and are right with probability 1, those of half 0 are near one half.
	if e := *got.ECE.ValidationAfter; math.Abs(e-25) > 0.5 {
		t.Errorf("calibration error %v, want half of the nodes 0 off and half of them 50 points", e)
	}
}
