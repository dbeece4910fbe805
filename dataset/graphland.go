package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"rivulet/dataset/file"
	"rivulet/dataset/table"
)

// The files of a set of GraphLand. The first column of each table of nodes is the node's number, by which edges name
// it.
const (
	landInfo     = "info.yaml"
	landFeatures = "features.csv"
	landTargets  = "targets.csv"
	landSplit    = "split_masks_TH.csv" // by time: columns train, val and test
	landEdges    = "edgelist.csv"
)

// landFormat reads the split by time as GraphLand's inductive setting has it: T is the nodes of train and the edges
// among them, later nodes arrive. A node of train without a class is unlabelled, a later one is in no role.
var landFormat = Format{
	Name:  "graphland",
	Looks: "a directory with " + landInfo + ", " + landFeatures + " and " + landSplit + ", as GraphLand has it",
	Found: func(dir string) bool {
		return file.Has(dir, landInfo) && file.Has(dir, landFeatures) && file.Has(dir, landSplit)
	},
	Read: readLand,
}

func readLand(dir string, o OpenOptions) (*Dataset, error) {
	var info struct {
		Task        string   `yaml:"task"`
		Target      string   `yaml:"target_name"`
		Categorical []string `yaml:"categorical_features_names"`
		Numerical   []string `yaml:"numerical_features_names"`
		Fraction    []string `yaml:"fraction_features_names"`
	}
	err := file.Read(dir, landInfo, 1<<20, func(f *os.File, _ int64) error { return yaml.NewDecoder(f).Decode(&info) })
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(info.Task, "classification") {
		return nil, fmt.Errorf("%s: task is %q, and only nodes with classes are read", landInfo, info.Task)
	}
	columns, err := landColumns(dir, landTargets, info.Target)
	if err != nil {
		return nil, err
	}
	classes := columns[0]
	if columns, err = landColumns(dir, landSplit, "train", "val", "test"); err != nil {
		return nil, err
	}
	t := sources{}
	if t.name, err = file.Name(dir); err != nil {
		return nil, err
	}
	for name, of := range map[string]*table.Source{landFeatures: &t.nodes, landEdges: &t.edges} {
		if *of, err = table.Named(filepath.Join(dir, name), []table.Kind{table.CSV}, table.TextForm{}); err != nil {
			return nil, err
		}
	}
	t.edges = t.edges.Extended([]string{"source", "target"}, nil, nil)
	t.nodes = t.nodes.Extended([]string{"id"}, []string{"label", "split"}, func(id string) ([]string, error) {
		class, known := classes[id]
		if !known {
			return nil, fmt.Errorf("node %.40q is not in %s", id, landTargets)
		}
		if class == "nan" {
			class = ""
		}
		role := ""
		for k, of := range []string{"train", "val", "test"} {
			switch masked := strings.ToLower(columns[k][id]); {
			case masked == "true" || masked == "1":
				role = of
			case masked != "false" && masked != "0":
				return nil, fmt.Errorf("node %.40q: %s has %.40q in column %s, want True or False", id, landSplit, masked, of)
			}
		}
		if class == "" {
			role = map[string]string{"train": "unlabelled", "val": "none", "test": "none"}[role]
		}
		return []string{class, role}, nil
	})
	o.Tables = table.Settings{Types: map[string]string{}, Split: "split"}
	for kind, names := range map[string][]string{"category": info.Categorical,
		"number": slices.Concat(info.Numerical, info.Fraction)} {
		for _, name := range names {
			o.Tables.Types[name] = kind
		}
	}
	return readTables(t, false, o)
}

// landColumns returns named columns of a table of nodes, each by the text of the first column.
func landColumns(dir, name string, columns ...string) ([]map[string]string, error) {
	out, at := make([]map[string]string, len(columns)), []int(nil)
	err := file.Read(dir, name, file.MaxBytes, func(f *os.File, size int64) error {
		return table.EachRecord(f, name, size, func(record []string) error {
			for k, column := range columns {
				if len(at) < len(columns) { // the names of the columns
					at, out[k] = append(at, slices.Index(record, column)), map[string]string{}
					if at[k] < 1 {
						return fmt.Errorf("there is no column %q", column)
					}
					continue
				}
				if _, twice := out[k][record[0]]; twice {
					return fmt.Errorf("node %.40q comes twice", record[0])
				}
				out[k][strings.Clone(record[0])] = strings.Clone(record[at[k]])
			}
			return nil
		})
	})
	if err == nil && len(at) == 0 {
		err = errors.New(name + ": it is empty")
	}
	return out, err
}
