package merge

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/target"
)

// answers are the labels of nodes: one of the classes, by its number; or a row of labels or numbers, of which each
// distinct one gets a number.
type answers struct {
	task    target.Task
	names   []string // of classes, labels or outputs
	rows    [][]float32
	numbers map[string]int32 // of the rows, by their bytes
}

func newAnswers(task target.Task, names []string) *answers {
	return &answers{task: task, names: names, numbers: map[string]int32{}}
}

// answersOf returns the answers of a data set, and the number of each node's; -1: it has none.
func answersOf(d *dataset.Dataset) (a *answers, of []int32) {
	a = newAnswers(d.Task, d.Classes)
	if d.Targets == nil {
		return a, d.Labels
	}
	of = slices.Clone(d.Labels)
	for i, label := range of {
		if label >= 0 {
			of[i] = a.number(d.Targets.Row(i))
		}
	}
	return a, of
}

// number returns the number of a row of targets.
func (a *answers) number(row []float32) int32 {
	var key []byte
	for _, v := range row {
		key = binary.LittleEndian.AppendUint32(key, math.Float32bits(v))
	}
	n, known := a.numbers[string(key)]
	if !known {
		n = int32(len(a.rows))
		a.rows, a.numbers[string(key)] = append(a.rows, slices.Clone(row)), n
	}
	return n
}

// resolve returns the number of a label's answer; false: the graph cannot have it.
func (a *answers) resolve(l *event.Label) (int32, bool) {
	resolve, ok := resolvers[a.task.Truth()]
	if !ok {
		panic(fmt.Sprintf("merge: labels of task %s have a form that is not read", a.task))
	}
	return resolve(a, l)
}

// resolvers read an answer, by the form of labels. A task of links learns from edges, and has none.
var resolvers = map[target.Truth]func(a *answers, l *event.Label) (int32, bool){
	target.OneClass:   (*answers).resolveClass,
	target.LabelSet:   (*answers).resolveLabels,
	target.NumberEach: (*answers).resolveNumbers,
	target.Neighbours: func(*answers, *event.Label) (int32, bool) { return 0, false },
}

func (a *answers) resolveClass(l *event.Label) (int32, bool) {
	class, known := l.Resolve(a.names)
	return int32(class), known
}

func (a *answers) resolveLabels(l *event.Label) (int32, bool) {
	row := make([]float32, len(a.names))
	if l.ClassName == "" {
		class, known := l.Resolve(a.names)
		if known {
			row[class] = 1
		}
		return a.number(row), known
	}
	for name := range strings.SplitSeq(l.ClassName, target.Mark) {
		at := slices.Index(a.names, name)
		if at < 0 && name != "" {
			return 0, false
		}
		if at >= 0 {
			row[at] = 1
		}
	}
	return a.number(row), true
}

func (a *answers) resolveNumbers(l *event.Label) (int32, bool) {
	row := make([]float32, len(a.names))
	parts := strings.Split(l.ClassName, target.Mark)
	if len(parts) != len(row) {
		return 0, false
	}
	for k, text := range parts {
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(math.Abs(v) <= math.MaxFloat32) {
			return 0, false
		}
		row[k] = float32(v)
	}
	return a.number(row), true
}

// set gives node i of a data set an answer; -1: none.
func (a *answers) set(d *dataset.Dataset, i int, answer int32) {
	switch {
	case a.ofEdges():
		d.Labels[i] = 0 // all nodes of T are trained on
	case d.Targets == nil:
		d.Labels[i] = answer
	case answer < 0:
		d.Labels[i] = -1
		clear(d.Targets.Row(i))
	default:
		d.Labels[i] = 0
		copy(d.Targets.Row(i), a.rows[answer])
	}
}

// ofEdges reports whether the task learns from edges, and nodes have no labels.
func (a *answers) ofEdges() bool { return a.task.Truth() == target.Neighbours }

// role returns the role of a node of T. A task of links trains on all of them.
func (a *answers) role(r role) role {
	if a.ofEdges() && r == unlabelled {
		return train
	}
	return r
}

// longer returns targets with rows for more nodes; nil of nil.
func longer(targets *graph.Dense, nodes int) *graph.Dense {
	if targets == nil {
		return nil
	}
	out := graph.NewDense(nodes, targets.Cols)
	copy(out.Data, targets.Data)
	return out
}
