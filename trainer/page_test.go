package trainer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/infer/architecture"
	"rivulet/infer/target"
	"rivulet/test/expect"
	"rivulet/test/markdown"
)

// answers are the fields of a prediction by task.
var answers = map[string]string{"classes": "`class`", "labels": "`labels`", "number": "`numbers`",
	"links": "`links`"}

// docs/tasks.md has a table of tasks, edges, models and methods, of what a run refuses.
func TestPageListsWhatRunsTake(t *testing.T) {
	plain := small(t, generate.BagOfWords)
	kinds := []struct {
		name string
		d    *dataset.Dataset
	}{{"plain", plain}, {"weights", weighed(t)}, {"directions", cited(t)},
		{"weights and directions", besideWeights(cited(t))}, {"types", typed(t, false)},
		{"weights and types", besideWeights(typed(t, false))}}
	var table strings.Builder
	table.WriteString("| task | answer | edges | models | methods |\n|---|---|---|---|---|\n")
	for _, task := range target.Tasks() {
		var rows [][3]string // kinds of edges with the same models and methods share a row
		for _, kind := range kinds {
			d := *kind.d
			d.Task = task
			var models, taken []string
			for _, name := range architecture.Names() {
				if checkModel(&d, name) == nil {
					models = append(models, name)
				}
			}
			for _, name := range append(Methods(nil), "lab") {
				o := Options{Method: name, More: []Method{{Name: "lab"}}, Models: models}
				err := o.check(&d)
				if err == nil && len(models) > 0 {
					taken = append(taken, name)
				}
			}
			if len(taken) == 0 {
				models = nil
			}
			row := [3]string{kind.name, words(models), words(taken)}
			if last := len(rows) - 1; last >= 0 && rows[last][1] == row[1] && rows[last][2] == row[2] {
				rows[last][0] += ", " + kind.name
			} else {
				rows = append(rows, row)
			}
		}
		for _, row := range rows {
			fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", task, answers[task.String()], row[0], row[1], row[2])
		}
	}
	page, err := markdown.Replace("../docs/tasks.md", "capabilities", table.String(), *update)
	expect.OK(t, err)
	expect.Same(t, table.String(), page, "docs/tasks.md is not as the code says: run make reference")
}

func words(names []string) string {
	if len(names) == 0 {
		return "refused"
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
