package target

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"rivulet/graph"
)

// A task is written and read by its name, and a name that is no task is an error: of settings and of files.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, task := range Tasks() {
		name := task.String()
		if seen[name] {
			t.Errorf("two tasks are named %s", name)
		}
		seen[name] = true
		if got, err := Parse(name); got != task || err != nil {
			t.Errorf("%q is %v, %v", name, got, err)
		}
		in := struct {
			Task Task `json:"task,omitzero"`
		}{task}
		text, err := json.Marshal(in)
		if want := `{"task":"` + name + `"}`; err != nil || task != Classes && string(text) != want ||
			task == Classes && string(text) != "{}" {
			t.Errorf("%s is written as %s, %v", task, text, err)
		}
		in.Task = Links
		if err := json.Unmarshal([]byte(`{"task":"`+name+`"}`), &in); err != nil || in.Task != task {
			t.Errorf("%s is read as %v, %v", name, in.Task, err)
		}
	}
	if got, err := Parse(""); got != Classes || err != nil || got != (Task{}) {
		t.Errorf("no name is %v, %v", got, err)
	}
	if _, err := Parse("communities"); err == nil || !strings.Contains(err.Error(),
		`task is "communities", want classes, labels, number or links`) {
		t.Errorf("communities is a task: %v", err)
	}
	var task Task
	if err := task.UnmarshalText([]byte("communities")); !errors.Is(err, ErrUnknown) ||
		!strings.Contains(err.Error(), `task is "communities", which this build does not know`) {
		t.Errorf("communities is read as %v: %v", task, err)
	}
}

// Each task's parts fit together: what validation fits, what is published and what is decoded.
func TestParts(t *testing.T) {
	logits := []float32{0.5, -1, 2}
	for _, task := range Tasks() {
		row, radius := make([]float32, 3), []float64{1, 2, 3}
		task.Probabilities(row, logits, 1, nil)
		var a Answer
		task.Decode(&a, row, radius)
		if a.Listed == task.Regression() || task.Regression() == slices.ContainsFunc([]Fit{OneTemperature, TemperatureEach},
			func(f Fit) bool { return f == task.Fitted() }) {
			t.Errorf("%s: an answer %+v, fitted %v", task, a, task.Fitted())
		}
		if task.Regression() != slices.Equal(row, logits) {
			t.Errorf("%s publishes %v of %v", task, row, logits)
		}
		if (a.Confidence > 0) == task.Regression() || a.Confidence > 1 || task.Confidence(row) != a.Confidence {
			t.Errorf("%s: confidence %v", task, a.Confidence)
		}
		if (a.Class >= 0) != (task.Truth() == OneClass) || (a.Labels != nil) != (task.Truth() == LabelSet) ||
			(a.Numbers != nil) != (task.Truth() == NumberEach) {
			t.Errorf("%s: an answer %+v of truth %d", task, a, task.Truth())
		}
		if primary := task.Primary(); primary.Each || !primary.Stored || primary.Long == "" || primary.Behind == "" {
			t.Errorf("%s: hyperparameters are chosen by %+v, which an artifact does not keep", task, primary)
		}
	}
}

// The row that a loss leaves is its gradient by central differences, and its share is its part.
func TestLossesAndTheirGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	const n, classes, h = 4, 3, 1e-3
	targets, logits := graph.NewDense(n, classes), graph.NewDense(n, classes)
	share := []float32{0.1, 0.4, 0, 0.5}
	for i := range n {
		sum := float32(0)
		for k := range classes {
			logits.Row(i)[k] = float32(2 * rng.NormFloat64())
			targets.Row(i)[k] = rng.Float32()
			sum += targets.Row(i)[k]
		}
		for k := range classes {
			targets.Row(i)[k] /= sum
		}
	}
	for _, task := range Tasks() {
		grad := logits.Clone()
		if loss := task.Loss(grad, targets, share); !(loss > 0) {
			t.Errorf("%s: the loss is %v", task, loss)
		}
		for at := range grad.Data {
			by := func(step float32) float64 {
				moved := logits.Clone()
				moved.Data[at] += step
				return task.Loss(moved, targets, share)
			}
			want := (by(h) - by(-h)) / (2 * h)
			if got := float64(grad.Data[at]); math.Abs(got-want) > 2e-3 {
				t.Errorf("%s: gradient %d is %v, by differences %v", task, at, got, want)
			}
		}
	}
}

// The most probable class is right with its probability; of labels the confidence is the mean over what is said of
// each.
func TestConfidence(t *testing.T) {
	row := []float32{0.9, 0.2, 0.5}
	for task, want := range map[Task]float64{Classes: 0.9, Labels: (0.9 + 0.8 + 0.5) / 3, Number: 0, Links: 0} {
		if got := float64(task.Confidence(row)); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: %v, want %v", task, got, want)
		}
	}
	if got := Probability(-2, 4); math.Abs(float64(got)-1/(1+math.Exp(0.5))) > 1e-6 || Has(got) ||
		!Has(Probability(0, 3)) {
		t.Errorf("a logit of -2 at the temperature 4 has the probability %v", got)
	}
}

// Labels come by their probability, of equal ones the first first; a node with none of them has a list that is empty.
func TestDecodedLabels(t *testing.T) {
	var a Answer
	Labels.Decode(&a, []float32{0.5, 0.2, 0.9, 0.5}, nil)
	if want := []Label{{2, 0.9}, {0, 0.5}, {3, 0.5}}; !slices.Equal(a.Labels, want) {
		t.Errorf("labels %v, want %v", a.Labels, want)
	}
	Labels.Decode(&a, []float32{0.1}, nil)
	if a.Labels == nil || len(a.Labels) != 0 {
		t.Errorf("labels %v, want none", a.Labels)
	}
	Number.Decode(&a, []float32{3}, []float64{0.5})
	if want := []Interval{{3, 2.5, 3.5}}; a.Labels != nil || !slices.Equal(a.Numbers, want) {
		t.Errorf("an answer %+v, want %v", a, want)
	}
}

// A task has what the table says; a refusal names the tasks that have it.
func TestRequire(t *testing.T) {
	for _, c := range []struct {
		task       Task
		capability *Capability
		name, err  string
	}{
		{Classes, Page, "", ""}, {Labels, Coverage, "", ""}, {Links, HeldOutEdges, "", ""},
		{Number, Coverage, "", "the task is number, and output.coverage is for classes and labels only"},
		{Links, TopK, "", ""},
		{Links, Coverage, "", "the task is links, and output.coverage is for classes and labels only"},
		{Labels, Page, "", "the task is labels, and the page is for classes only"},
		{Classes, HeldOutEdges, "", "the task is classes, and --held-out is for links only"},
		{Links, Method, "vng", "the task is links, and method vng is for classes only"},
	} {
		var names []string
		if c.name != "" {
			names = []string{c.name}
		}
		err := c.task.Require(c.capability, names...)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) ||
			c.task.Can(c.capability) != (err == nil) {
			t.Errorf("%s, %s: %v, want %q", c.task, c.capability, err, c.err)
		}
	}
}

func dense(rows, cols int, data ...float32) *graph.Dense {
	return &graph.Dense{Rows: rows, Cols: cols, Data: data}
}

func wantScores(t *testing.T, task Task, a *Answers, want map[string]float64) {
	t.Helper()
	scores := task.Score(a)
	for name, value := range want {
		if got := Find(scores, name).Mean; !(math.Abs(got-value) < 1e-9) {
			t.Errorf("%s is %v, want %v", name, got, value)
		}
	}
}

// Class 0: 8 of 10 right, 1 more predicted. Class 1: 9 of 10 right, 2 more predicted. Class 2 does not occur.
func TestSection8MacroF1(t *testing.T) {
	a := &Answers{Logits: []*graph.Dense{graph.NewDense(20, 3)}, Labels: [][]int32{nil}}
	for class, row := range [][]int{{8, 2, 0}, {1, 9, 0}, {0, 0, 0}} {
		for said, n := range row {
			for range n {
				a.Labels[0], a.Class = append(a.Labels[0], int32(class)), append(a.Class, int32(said))
			}
		}
	}
	wantScores(t, Classes, a, map[string]float64{"accuracy": 85, "macro_f1": 100 * (16./19 + 18./21) / 2})
	if got := MacroF1([][]int{{0}}); got != 0 {
		t.Errorf("macro F1 of nobody is %v", got)
	}
	wantScores(t, Classes, &Answers{}, map[string]float64{"accuracy": 0, "macro_f1": 0})
}

// Scores of labels by hand. Label 0 is ranked right, wrong, right: precisions 1 and 2/3. Label 1 has two nodes with one
// logit, of which one has it: they are ranked together, 1/2. No node has label 2.
func TestLabelScores(t *testing.T) {
	a := &Answers{Labels: [][]int32{{0, 0}, {0}},
		Targets: []*graph.Dense{dense(2, 3, 1, 1, 0, 0, 0, 0), dense(1, 3, 1, 0, 0)},
		Logits:  []*graph.Dense{dense(2, 3, 3, 2, -1, 1, 2, -2), dense(1, 3, -1, 1, 4)}}
	// said: label 0 of nodes 0, 1; label 1 of all three; label 2 of node 2. true: label 0 of nodes 0, 2; label 1 of node 0
	f0, f1, f2 := 2*1.0/(2+2), 2*1.0/(3+1), 0.0
	wantScores(t, Labels, a, map[string]float64{"micro_f1": 100 * 2 * 2.0 / (6 + 3), "macro_f1": 100 * (f0 + f1 + f2) / 3,
		"map": 100 * ((1+2.0/3)/2 + 0.5) / 2})
	var count, is int
	truth := []float32{1, 0, 0}
	Labels.Events([]float32{0.7, 0.2, 0.8}, 0, truth, func(_ float32, right bool) {
		if count++; right {
			is++
		}
	})
	if count != 3 || is != 1 || Labels.Right([]float32{0.7, 0.2, 0.8}, 0, truth) != 2./3 {
		t.Errorf("%d events, %d true", count, is)
	}
}

// R² of numbers that do not vary is that of scikit-learn: 0, or 100% where the answers are right. The mean of equal
// numbers is rounded, and their squares around it do not sum to 0.
func TestR2OfNumbersThatDoNotVary(t *testing.T) {
	const n = 7
	for _, c := range []struct {
		off  float32
		want float64
	}{{0.5, 0}, {0, 100}, {1e-6, 0}} {
		truth, said := graph.NewDense(n, 1), graph.NewDense(n, 1)
		for i := range n {
			truth.Data[i], said.Data[i] = 0.1, 0.1+c.off
		}
		wantScores(t, Number, &Answers{Targets: []*graph.Dense{truth}, Logits: []*graph.Dense{said}},
			map[string]float64{"r2": c.want})
	}
}

// Ranks count candidates that are no neighbours, and half of those with an equal score.
func TestRanksOfLinks(t *testing.T) {
	asked := 0
	q := &Queries{Vectors: dense(6, 1, 6, 5, 4, 4, 2, 1), Held: [][]int32{{2, 4}, nil, {0}},
		Known: [][]int32{{0}, {3}, nil}, Baselines: func() (float64, float64) { asked++; return 7, 8 }}
	// Node 0: candidate 2 is behind 1 and level with 3, so its rank is 2½; candidate 4 is behind 1 and 3, so it is 3.
	// Node 2 turns the order around: candidate 0 is the last of six.
	a := &Answers{Queries: q, Logits: []*graph.Dense{dense(2, 1, 1, 1), dense(1, 1, -1)}}
	want := map[string]float64{"held_out": 3, "mrr": 100 * (1/2.5 + 1./3 + 1./6) / 3, "hits_1": 0, "hits_10": 100,
		"hits_50": 100, "popularity_mrr": 7, "adamic_adar_mrr": 8}
	wantScores(t, Links, a, want)
	asked, a.Brief = 0, true
	if name := Links.Primary().Name; name != "mrr" || math.Abs(Find(Links.Score(a), name).Mean-want[name]) > 1e-9 || asked != 0 {
		t.Errorf("links are chosen by %s; baselines were asked for %d times", name, asked)
	}
}
