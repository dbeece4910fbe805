// Package ogb reads a set of the Open Graph Benchmark for the prediction of a node's one class, as its package
// downloads it.
package ogb

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"rivulet/dataset/csv"
	"rivulet/dataset/file"
	"rivulet/dataset/numpy"
	"rivulet/graph"
)

// The files of a set. None has names of columns; nodes are numbered by the lines of node-feat.
const (
	Features = "raw/node-feat.csv.gz"
	Labels   = "raw/node-label.csv.gz" // nan: none
	Edges    = "raw/edge.csv.gz"

	splitFiles = "split/*/train.csv.gz" // beside it valid and test: numbers of nodes
)

// Graph is a set as its files have it.
type Graph struct {
	X      *graph.Dense
	Labels []string   // of each node, in decimal; empty: none
	Split  []string   // train, val or test; empty: none, or the set has no split
	Edges  [][2]int32 // without those of a node to itself
	Loops  int        // these
	// HasSplit says that there is a split.
	HasSplit bool
}

// Read reads a set. check refuses a feature.
func Read(dir string, check func(v float64) error) (*Graph, error) {
	g, err := &Graph{X: &graph.Dense{}}, error(nil)
	records := func(name string, use func(record []string) error) {
		if err == nil {
			err = file.Read(dir, name, file.MaxBytes,
				func(f *os.File, size int64) error { return csv.EachRecord(f, name, size, use) })
		}
	}
	x, spans := g.X, []numpy.Span(nil)
	records(Features, func(record []string) error {
		if spans == nil { // all records are as long, as encoding/csv checks
			x.Cols, spans = len(record), make([]numpy.Span, len(record))
		}
		for k, text := range record {
			v, err := strconv.ParseFloat(text, 64)
			if err == nil && (math.IsNaN(v) || len(x.Data) >= file.MaxBytes/4) {
				err = fmt.Errorf("%q is not a finite number, or more than %d bytes", text, int64(file.MaxBytes))
			}
			if err == nil {
				err = check(v)
			}
			if err != nil {
				return fmt.Errorf("feature %d: %w", k, err)
			}
			spans[k].See(v)
			x.Data = append(x.Data, float32(v))
		}
		x.Rows++
		return nil
	})
	for k := range spans {
		if err == nil {
			err = spans[k].Check(fmt.Sprintf("%d of %s", k, Features), "leave the column out")
		}
	}
	records(Labels, func(record []string) error {
		label := ""
		if len(record) != 1 {
			return fmt.Errorf("%d labels of a node, want its one class", len(record))
		}
		if v, err := strconv.ParseFloat(record[0], 64); err != nil || v != math.Trunc(v) && !math.IsNaN(v) {
			return fmt.Errorf("%.40q is not a class", record[0])
		} else if !math.IsNaN(v) {
			label = strconv.FormatInt(int64(v), 10)
		}
		g.Labels, g.Split = append(g.Labels, label), append(g.Split, "")
		return nil
	})
	node := func(text string) (int32, error) {
		i, err := strconv.Atoi(text)
		if err != nil || i < 0 || i >= x.Rows {
			return 0, fmt.Errorf("%.40q is not the number of one of %d nodes", text, x.Rows)
		}
		return int32(i), nil
	}
	records(Edges, func(record []string) error {
		if len(record) != 2 {
			return fmt.Errorf("%d numbers, want the two ends of an edge", len(record))
		}
		i, errSource := node(record[0])
		j, errTarget := node(record[1])
		if i == j && errSource == nil {
			g.Loops++
		} else {
			g.Edges = append(g.Edges, [2]int32{i, j})
		}
		return errors.Join(errSource, errTarget)
	})
	if err == nil && len(g.Labels) != x.Rows {
		err = fmt.Errorf("%s: %d labels of %d nodes", Labels, len(g.Labels), x.Rows)
	}
	splits, _ := file.Glob(dir, splitFiles) // a good pattern
	if err == nil && len(splits) > 1 {
		err = fmt.Errorf("%s and %s both exist: which is the split?", splits[0], splits[1])
	}
	for _, list := range splits {
		for _, role := range []string{"train", "val", "test"} {
			file := map[string]string{"val": "valid"}[role]
			name, _ := filepath.Rel(dir, filepath.Join(filepath.Dir(list), cmp.Or(file, role)+".csv.gz")) // both are below dir
			records(name, func(record []string) error {
				i, err := node(record[0])
				switch {
				case err != nil:
					return err
				case g.Split[i] != "":
					return fmt.Errorf("node %d is in %s, too", i, g.Split[i])
				case g.Labels[i] == "":
					return fmt.Errorf("node %d has no class, but a %s node needs one", i, role)
				}
				g.Split[i] = role
				return nil
			})
		}
	}
	g.HasSplit = len(splits) > 0
	return g, err
}
