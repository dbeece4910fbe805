package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"rivulet/graph"
)

// A weight steps against its gradient and its weight decay, a bias against its gradient alone.
func TestBiasesDoNotDecay(t *testing.T) {
	for _, decays := range []bool{true, false} {
		p := newParam(&graph.Dense{Rows: 1, Cols: 2, Data: []float32{1, -1}}, decays)
		p.grad = graph.NewDense(1, 2)
		p.step(0.01, 0.5)
		if moved := p.value.Data[0] < 1 && p.value.Data[1] > -1; moved != decays {
			t.Errorf("decays %v: the values became %v", decays, p.value.Data)
		}
	}
}

func TestGlorotFillsItsRange(t *testing.T) {
	p := glorot(rand.New(rand.NewPCG(1, 0)), 40, 60)
	bound, sum, least, most := math.Sqrt(6.0/100), 0.0, 0.0, 0.0
	for _, w := range p.value.Data {
		sum += float64(w)
		least, most = min(least, float64(w)), max(most, float64(w))
	}
	if least < -bound || most > bound || least > -0.95*bound || most < 0.95*bound || math.Abs(sum/2400) > 0.01 {
		t.Errorf("weights from %g to %g with mean %g, want ±%g around 0", least, most, sum/2400, bound)
	}
	if !p.decays {
		t.Error("a weight does not decay")
	}
}
