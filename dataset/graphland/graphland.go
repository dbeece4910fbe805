// Package graphland finds the tables of a set of GraphLand with its split by time: nodes whose label and role stand in
// tables of their own are given both as columns, so that package dataset reads them like any other tables.
package graphland

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"rivulet/dataset/csv"
	"rivulet/dataset/file"
	"rivulet/dataset/table"
)

// The files of a set of GraphLand. The first column of each table of nodes is the node's number, by which edges name
// it.
const (
	Info     = "info.yaml"
	Features = "features.csv"
	Targets  = "targets.csv"
	Split    = "split_masks_TH.csv" // by time: columns train, val and test
	Edges    = "edgelist.csv"
)

// Found reports whether a directory looks like a set of GraphLand.
func Found(dir string) bool {
	return file.Has(dir, Info) && file.Has(dir, Features) && file.Has(dir, Split)
}

// Tables returns the tables of nodes and edges, with the types of their columns. The split by time is the one of
// GraphLand's inductive setting: T is the nodes of train and the edges among them, later nodes arrive. A node of train
// without a class is unlabelled, a later one is in no role.
func Tables(dir string) (nodes, edges table.Source, settings table.Settings, err error) {
	var info struct {
		Task        string   `yaml:"task"`
		Target      string   `yaml:"target_name"`
		Categorical []string `yaml:"categorical_features_names"`
		Numerical   []string `yaml:"numerical_features_names"`
		Fraction    []string `yaml:"fraction_features_names"`
	}
	err = file.Read(dir, Info, 1<<20, func(f *os.File, _ int64) error { return yaml.NewDecoder(f).Decode(&info) })
	if err != nil {
		return nodes, edges, settings, err
	}
	if !strings.HasSuffix(info.Task, "classification") {
		return nodes, edges, settings, fmt.Errorf("%s: task is %q, and only nodes with classes are read", Info, info.Task)
	}
	classes, err := columnsByNode(dir, Targets, info.Target)
	if err != nil {
		return nodes, edges, settings, err
	}
	masks, err := columnsByNode(dir, Split, "train", "val", "test")
	if err != nil {
		return nodes, edges, settings, err
	}
	for name, of := range map[string]*table.Source{Features: &nodes, Edges: &edges} {
		if *of, err = table.Named(filepath.Join(dir, name), []table.Kind{csv.Kind}, table.TextForm{}); err != nil {
			return nodes, edges, settings, err
		}
	}
	edges = edges.Extended([]string{"source", "target"}, nil, nil)
	nodes = nodes.Extended([]string{"id"}, []string{"label", "split"}, func(id string) ([]string, error) {
		return labelAndRole(id, classes[0], masks)
	})
	settings = table.Settings{Types: map[string]string{}, Split: "split"}
	for kind, names := range map[string][]string{"category": info.Categorical,
		"number": slices.Concat(info.Numerical, info.Fraction)} {
		for _, name := range names {
			settings.Types[name] = kind
		}
	}
	return nodes, edges, settings, nil
}

// labelAndRole returns a node's class, empty if it has none, and the name of its role.
func labelAndRole(id string, classes map[string]string, masks []map[string]string) ([]string, error) {
	class, known := classes[id]
	if !known {
		return nil, fmt.Errorf("node %.40q is not in %s", id, Targets)
	}
	role := ""
	for k, of := range []string{"train", "val", "test"} {
		switch masked := strings.ToLower(masks[k][id]); {
		case masked == "true" || masked == "1":
			role = of
		case masked != "false" && masked != "0":
			return nil, fmt.Errorf("node %.40q: %s has %.40q in column %s, want True or False", id, Split, masked, of)
		}
	}
	if class == "nan" || class == "" {
		class, role = "", map[string]string{"train": "unlabelled", "val": "none", "test": "none"}[role]
	}
	return []string{class, role}, nil
}

// columnsByNode returns named columns of a table of nodes, each by the text of the first column.
func columnsByNode(dir, name string, columns ...string) ([]map[string]string, error) {
	out, at := make([]map[string]string, len(columns)), []int(nil)
	err := file.Read(dir, name, file.MaxBytes, func(f *os.File, size int64) error {
		return csv.EachRecord(f, name, size, func(record []string) error {
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
