package target

import (
	"math"
	"strings"
	"testing"
)

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

// A task has what the table says, and classes have all; a refusal names the tasks that have it.
func TestRequire(t *testing.T) {
	for _, c := range []struct {
		task            Task
		capability, err string
	}{
		{Classes, "anything", ""}, {Labels, Coverage, ""},
		{Number, Coverage, "the task is number, and output.coverage is for classes and labels only"},
		{Links, TopK, ""},
		{Links, Coverage, "the task is links, and output.coverage is for classes and labels only"},
		{Labels, "the page", "the task is labels, and the page is for classes only"},
	} {
		err := c.task.Require(c.capability)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s, %s: %v, want %q", c.task, c.capability, err, c.err)
		}
	}
	for name, want := range map[string]Task{"": Classes, "classes": Classes, "labels": Labels, "number": Number,
		"links": Links} {
		if got, err := Parse(name); got != want || err != nil {
			t.Errorf("%q is %v, %v", name, got, err)
		}
	}
	if _, err := Parse("communities"); err == nil {
		t.Error("communities is a task")
	}
}
