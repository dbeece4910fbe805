package schema

import (
	"fmt"
	"math"
	"testing"

	"rivulet/test/expect"
)

// A row is summed up by feature, in either form; features after the first 64 have one measure.
func TestMeasure(t *testing.T) {
	const n = 20
	columns := []Column{{Name: "age", Type: Number}, {Name: "plan", Type: Text, Categorical: true},
		{Name: "about", Type: Vector}}
	for i := range n {
		columns[0].Numbers = append(columns[0].Numbers, float64(i))
		columns[1].Texts = append(columns[1].Texts, []string{"a", "b"}[i%2])
		columns[2].Vectors = append(columns[2].Vectors, []float32{float32(i), 4})
	}
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	s, err := Fit(columns, rows, FitOptions{MinCount: 1})
	expect.OK(t, err)
	expect.Same(t, []string{"age", "plan", "about"}, s.Measures(), "names")
	fields := []Field{{"age", Value{Type: Number, Number: 7}}, {"plan", Value{Type: Text, Text: "b"}},
		{"about", Value{Type: Vector, Vector: []float32{3, 4}}}}
	dense, got := make([]float32, s.Width()), make([]float32, 3)
	expect.OK(t, s.Encode(dense, fields))
	s.Measure(got, nil, dense)
	want := []float32{7, 1, 5}
	expect.Same(t, want, got, "dense")
	indices, values, err := s.AppendSparse([]int32{}, nil, fields)
	expect.OK(t, err)
	s.Measure(got, indices, values)
	expect.Same(t, want, got, "sparse")

	columns = nil
	for k := range MaxBlocks + 6 {
		c := Column{Name: fmt.Sprintf("f%03d", k), Type: Number}
		for i := range n {
			c.Numbers = append(c.Numbers, float64(i*(k+1)))
		}
		columns = append(columns, c)
	}
	if s, err = Fit(columns, rows, FitOptions{}); err != nil {
		t.Fatal(err)
	}
	names := s.Measures()
	if len(names) != MaxBlocks+1 || names[MaxBlocks] != OtherFeatures {
		t.Fatalf("%d measures, the last is %s", len(names), names[len(names)-1])
	}
	ones := make([]float32, s.Width())
	for k := range ones {
		ones[k] = 1
	}
	got = make([]float32, len(names))
	if s.Measure(got, nil, ones); got[MaxBlocks-1] != 1 || got[MaxBlocks] != float32(math.Sqrt(6)) {
		t.Errorf("measures end with %v and %v", got[MaxBlocks-1], got[MaxBlocks])
	}
}
