package dataset

import (
	"encoding/json"
	"fmt"
	"strconv"

	"rivulet/dataset/graphsaint"
	"rivulet/infer/target"
)

// labelForm reads, checks and writes labels of one form.
type labelForm struct {
	// read sets the labels of nodes by the cells of a table, and check looks at them once nodes have roles.
	read  func(b *builder, d *Dataset) error
	check func(b *builder, d *Dataset) error
	// load reads what arrays have beside class_map.json.
	load func(d *Dataset, dir string, said *graphsaint.Merged) error
	// put appends the value of a node in class_map.json; files are further files.
	put   func(d *Dataset, node int, dst []byte) []byte
	files func(d *Dataset) []newFile
}

// labelForms has every form that a task's labels can have.
var labelForms = map[target.Truth]labelForm{
	target.OneClass: {
		read:  (*builder).oneClass,
		check: func(_ *builder, d *Dataset) error { d.checkTrained(); return nil },
		load:  func(d *Dataset, dir string, _ *graphsaint.Merged) error { return d.loadClassNames(dir) },
		put:   putClass, files: noFiles,
	},
	target.LabelSet: {
		read:  (*builder).labelSets,
		check: func(_ *builder, d *Dataset) error { d.checkTrainedLabels(); return nil },
		load: func(d *Dataset, dir string, _ *graphsaint.Merged) error {
			err := d.loadClassNames(dir)
			if err == nil {
				d.checkTrainedLabels()
			}
			return err
		},
		put: func(d *Dataset, node int, dst []byte) []byte {
			flags, _ := json.Marshal(d.Targets.Row(node)) // numbers 0 and 1
			return append(dst, flags...)
		}, files: noFiles,
	},
	target.NumberEach: {
		read:  (*builder).numbers,
		check: func(b *builder, d *Dataset) error { return d.checkNumbers(b.targets) },
		load:  func(d *Dataset, dir string, said *graphsaint.Merged) error { return d.loadNumbers(dir, said.Task) },
		put:   putClass,
		files: func(d *Dataset) []newFile {
			return []newFile{{targetsFile, d.writeTargets}}
		},
	},
	target.Neighbours: {
		read:  (*builder).candidates,
		check: func(_ *builder, d *Dataset) error { return d.checkLinks() },
		load:  func(d *Dataset, _ string, said *graphsaint.Merged) error { return d.loadCandidates(said) },
		put:   putClass, files: noFiles,
	},
}

func putClass(d *Dataset, node int, dst []byte) []byte {
	return strconv.AppendInt(dst, int64(d.Labels[node]), 10)
}

func noFiles(*Dataset) []newFile { return nil }

// labelForm returns the form of the data's labels. A task whose form this package does not know is a mistake of the
// program.
func (d *Dataset) labelForm() labelForm {
	f, ok := labelForms[d.Task.Truth()]
	if !ok {
		panic(fmt.Sprintf("dataset: labels of task %s have a form that is not read", d.Task))
	}
	return f
}
