package expert

import (
	"slices"
	"testing"

	"rivulet/graph"
	"rivulet/infer/perceptron"
)

// Section 11, on numbers that can be counted: 8 nodes of 2 classes that the model has wrong by 1, of which own features
// say the right class by 3 for six and the wrong one for two.
func TestSection11ChoosesByTheOtherHalf(t *testing.T) {
	n := 8
	s := &Support{Own: graph.NewDense(n, 2)}
	logits := graph.NewDense(n, 2)
	for i := range n {
		s.Labels, s.Neighbours = append(s.Labels, 0), append(s.Neighbours, i)
		logits.Row(i)[1] = 1
		s.Own.Row(i)[i/6] = 3 // the last two are wrong
	}
	s.Models = []Logits{{logits, logits}}
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	k := s.judge(logits, all)
	if want := []int{0, 0, 6, 6, 6, 6, 6, 6}; !slices.Equal(k.right, want) || k.best != 2 || k.better != 6 ||
		k.worse != 0 ||
		!k.clear() {
		t.Errorf("right %v, best %d, %d:%d; want %v, 2 (a = 0.5), 6:0", k.right, k.best, k.better, k.worse, want)
	}
	c := s.Choose(0, false) // degree 0 alone; 1 to 4 all right; 5 right, 6 and 7 wrong: too few to tell
	if want := (perceptron.Exponents{None: .5, Few: .5, Many: .5}); c.Exponents != want || c.GainAlone != 75 {
		t.Errorf("chosen %+v, want %+v", c.OwnInfo, want)
	}
	for i := range s.Own.Data {
		s.Own.Data[i] = 0
	}
	if c := s.Choose(0, false); c.Exponents != (perceptron.Exponents{}) || c.Gain != 0 {
		t.Errorf("features that say nothing are chosen: %+v", c.OwnInfo)
	}
}
