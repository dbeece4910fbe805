package table

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// splitNames maps the names of roles in tables to the roles.
var splitNames = map[string]string{
	"train": "train", "tr": "train", "training": "train", "val": "val", "va": "val", "valid": "val", "validation": "val",
	"test": "test", "te": "test", "unlabelled": "unlabelled", "unlabeled": "unlabelled", "un": "unlabelled",
	"": "", "none": "",
}

// roleMasks is the number of masks that a split can be written as: train, val and test.
const roleMasks = 3

// role returns the canonical name of a node's role, empty for none. Train, val and test nodes need a label.
func (r *NodeReader) role(label, written string) (string, error) {
	column := cmp.Or(r.settings.Split, "split")
	said, mapped := r.settings.SplitValues[written]
	if !mapped {
		if said = written; r.settings.SplitValues != nil && said != "" && r.plan.masks == nil {
			return "", Fault{Splitless, fmt.Errorf("column %s: %.100q is none of the values that are said to stand for a role",
				column, written)}
		}
	}
	split, ok := splitNames[strings.ToLower(said)]
	switch {
	case !ok:
		return "", Fault{Splitless,
			fmt.Errorf("column %s: %.100q is not one of train, val, test, unlabelled: say which values stand for these", column,
				written)}
	case label == "" && split != "" && split != "unlabelled":
		return "", Fault{Unlabelled, fmt.Errorf("column %s: it is empty, but a %s node needs one",
			cmp.Or(r.settings.Label, "label"), split)}
	case r.named && label == "" && written == "":
		return "unlabelled", nil
	}
	return split, nil
}

// Order returns the order of the names of classes: by their integer value if all have one, else by their bytes.
func Order(names []string) func(a, b string) int {
	values := make(map[string]int, len(names))
	for _, name := range names {
		v, err := strconv.Atoi(name)
		if err != nil {
			return strings.Compare
		}
		values[name] = v
	}
	return func(a, b string) int {
		return cmp.Or(cmp.Compare(values[a], values[b]), strings.Compare(a, b)) // "1" and "01"
	}
}
