package merge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/target"
)

// Labels of a task of labels or numbers make training nodes with these; what a graph cannot have is counted, and the
// node stays as it is. A label from a label gives way to a later one, and one that the graph had does not.
func TestLabelsOfOtherTasks(t *testing.T) {
	for name, c := range map[string]struct {
		task  target.Task
		names []string
		rows  [][]float32 // of a, and of c and d, which are held out
		said  []string    // labels of b, x, y, z and a
		want  [][]float32 // of b, x, y and z; nil: unlabelled
	}{
		"labels": {target.Labels, []string{"red", "blue"}, [][]float32{{1, 0}, {0, 1}, {1, 1}},
			[]string{"blue;red", ";", "green", "red", "blue"}, [][]float32{{1, 1}, {0, 0}, nil, {1, 0}}},
		"numbers": {target.Number, []string{"price", "age"}, [][]float32{{1, 2}, {3, 4}, {5, 6}},
			[]string{"2.5;-3", "1e3; 4", "7", "NaN;1", "8;9"}, [][]float32{{2.5, -3}, {1000, 4}, nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			d := path()
			d.Task, d.Classes, d.Targets = c.task, c.names, graph.NewDense(6, 2)
			d.Labels = []int32{0, -1, 0, 0, -1, -1}
			for k, i := range []int{0, 2, 3} {
				copy(d.Targets.Row(i), c.rows[k])
			}
			m := inMemory(d)
			arrivals := []event.Arrival{arrived("x", 1, 1, "a"), arrived("y", 1, 1), arrived("z", 1, 1)}
			var labels []event.Label
			for k, id := range []string{"b", "x", "y", "z", "a"} {
				labels = append(labels, classed(id, c.said[k]))
			}
			feed(m, arrivals, labels)
			got, report := grownData(t, m)
			unknown := 0
			for k, id := range []string{"b", "x", "y", "z"} {
				want := c.want[k]
				if want == nil {
					unknown++
				}
				if row := targetOf(got, id); !cmp.Equal(row, want) {
					t.Errorf("%s has %v, want %v", id, row, want)
				}
			}
			if !cmp.Equal(targetOf(got, "a"), c.rows[0]) || report.LabelConflict != 1 || len(report.UnknownClass) != unknown {
				t.Errorf("a has %v; %+v", targetOf(got, "a"), report)
			}
			later := inMemory(got)
			feed(later, arrivals, append(labels, classed("b", c.said[1]), classed("y", c.said[0])))
			again, report := grownData(t, later)
			if report.Relabelled != 1 || report.NewLabels != 1 || !cmp.Equal(targetOf(again, "b"), c.want[1]) ||
				!cmp.Equal(targetOf(again, "y"), c.want[0]) {
				t.Errorf("b has %v, y %v; %+v", targetOf(again, "b"), targetOf(again, "y"), report)
			}
		})
	}
}

// targetOf returns the labels or numbers of a training or held-out node; nil of another.
func targetOf(d *dataset.Dataset, id string) []float32 {
	for i, other := range d.IDs {
		if other == id && d.Labels[i] >= 0 {
			return d.Targets.Row(i)
		}
	}
	return nil
}
