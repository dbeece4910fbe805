package report

import (
	"errors"
	"fmt"

	"rivulet/trainer/eval"
)

// Page is the input of a page. Only Title is required.
type Page struct {
	Title   string
	Command string   // that makes the page again
	Options []Option // of the runs, in the order in which they are printed
	Data    Data
	Batch   int      // nodes of a batch in evaluation; 0: not known
	Classes []string // names of the classes, by number; nil: the numbers
	Results []eval.Result

	Learned     *LearnedCourse
	Starts      []Start
	Sparsity    []Sparsity
	Sensitivity []Sensitivity
	Heat        *Heat
	Streams     []Stream // a page of streams shows them alone
}

// Option is a setting of the runs, in its printed form.
type Option struct{ Name, Value string }

// Data is the set that was evaluated; fields that are 0 or empty are not printed.
type Data struct {
	Name        string
	Fingerprint string
	Nodes       int // N
	Edges       int // of T, undirected
	Features    int // d
	Classes     int // C
	Test        int // test nodes
}

// LearnedCourse are the losses of one run of the learned method, one value a step, and the accuracy on validation nodes
// by round.
type LearnedCourse struct {
	Seed           uint64
	SyntheticNodes int
	Gra, Str       []float64 // of the steps on S; empty: not part of the run
	Tra, Ind       []float64 // of the steps on M
}

// Start are both losses of M of a run with a certain start of M, one value a step.
type Start struct {
	Name     string // "class-aware", "random"
	Tra, Ind []float64
}

// Sparsity is the accuracy of one S and M as M is made sparser.
type Sparsity struct {
	Method         string // "learned", "solved"
	Parameter      string // the parameter that makes it sparser: "δ", "k"
	Of             string // the setting of the accuracy, such as "O→S on the validation nodes"
	Nodes          int    // N; at least 1
	SyntheticNodes int    // N'; at least 1
	Points         []SparsityPoint
}

// SparsityPoint is one value of the parameter.
type SparsityPoint struct {
	Value    float64 // of the parameter
	Entries  int     // entries of M that are left
	Accuracy eval.Spread
}

// Sensitivity is the accuracy over one weight of the learned method's losses.
type Sensitivity struct {
	Parameter string // "λ", "β"
	Fixed     string // the other parameters, such as "β = 100"
	Of        string // the nodes, such as "test nodes, graph batches"
	Values    []float64
	Lines     []SensitivityLine
}

// SensitivityLine is the accuracy of a setting at each of Values.
type SensitivityLine struct {
	Name     string // "O→S"
	Accuracy []eval.Spread
}

// Heat is the weight that M gives to the synthetic nodes of each class, in the mean over T's nodes of each class: C×C,
// the row is the class of T's node, the column the class of the synthetic nodes; NaN for no value.
type Heat struct {
	Before, After [][]float64
}

// check refuses pages that cannot be drawn, because shapes do not fit each other. Values that are not finite are no
// error; they are left out, and their table has a dash.
func (p *Page) check() error {
	if p.Title == "" {
		return errors.New("title is empty")
	}
	for k := range p.Results {
		if err := checkSquare(p.Results[k].Confusion); err != nil {
			return fmt.Errorf("results[%d].confusion: %w", k, err)
		}
	}
	for k := range p.Sparsity {
		if s := &p.Sparsity[k]; s.Nodes < 1 || s.SyntheticNodes < 1 {
			return fmt.Errorf("sparsity[%d] has N = %d and N' = %d, want at least 1", k, s.Nodes, s.SyntheticNodes)
		}
	}
	for k := range p.Sensitivity {
		s := &p.Sensitivity[k]
		for i, line := range s.Lines {
			if len(line.Accuracy) != len(s.Values) {
				return fmt.Errorf("sensitivity[%d].lines[%d] has %d accuracies for %d values", k, i, len(line.Accuracy),
					len(s.Values))
			}
		}
	}
	if p.Heat == nil {
		return nil
	}
	if err := checkSquare(p.Heat.Before); err != nil {
		return fmt.Errorf("heat.before: %w", err)
	}
	if err := checkSquare(p.Heat.After); err != nil {
		return fmt.Errorf("heat.after: %w", err)
	}
	return nil
}

func checkSquare[T any](rows [][]T) error {
	for k, row := range rows {
		if len(row) != len(rows) {
			return fmt.Errorf("row %d has %d values, want %d", k, len(row), len(rows))
		}
	}
	return nil
}

// class returns the name of a class.
func (p *Page) class(c int) string {
	if c < len(p.Classes) && p.Classes[c] != "" {
		return p.Classes[c]
	}
	return fmt.Sprint(c)
}

func (p *Page) classes(n int) []string {
	out := make([]string, n)
	for c := range out {
		out[c] = p.class(c)
	}
	return out
}
