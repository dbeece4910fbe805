package dataset

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

// The files of a set of the Open Graph Benchmark for the prediction of a node's one class, as its package downloads
// them. None has names of columns; nodes are numbered by the lines of node-feat.
const (
	ogbFeatures = "raw/node-feat.csv.gz"
	ogbLabels   = "raw/node-label.csv.gz" // nan: none
	ogbEdges    = "raw/edge.csv.gz"
	ogbSplits   = "split/*/train.csv.gz" // beside it valid and test: numbers of nodes
)

var ogbFormat = Format{
	Name:  "ogb",
	Looks: "a directory with " + ogbFeatures + ", as OGB downloads it",
	Found: hasFile(ogbFeatures),
	Read:  readOGB,
}

func readOGB(dir string, o OpenOptions) (*Dataset, error) {
	d, b := &Dataset{}, &builder{settings: o.Tables}
	var err error
	if d.Name, err = file.Name(dir); err != nil {
		return nil, err
	}
	records := func(name string, use func(record []string) error) {
		if err == nil {
			err = file.Read(dir, name, file.MaxBytes,
				func(f *os.File, size int64) error { return csv.EachRecord(f, name, size, use) })
		}
	}
	x, spans := &graph.Dense{}, []numpy.Span(nil)
	records(ogbFeatures, func(record []string) error {
		if spans == nil { // all records are as long, as encoding/csv checks
			x.Cols, spans = len(record), make([]numpy.Span, len(record))
		}
		for k, text := range record {
			v, err := strconv.ParseFloat(text, 64)
			if err == nil && (math.IsNaN(v) || len(x.Data) >= maxFeatureBytes/4) {
				err = fmt.Errorf("%q is not a finite number, or more than %d bytes", text, int64(maxFeatureBytes))
			}
			if err == nil {
				err = checkMagnitude(v)
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
			err = spans[k].Check(fmt.Sprintf("%d of %s", k, ogbFeatures), "leave the column out")
		}
	}
	records(ogbLabels, func(record []string) error {
		label := ""
		if len(record) != 1 {
			return fmt.Errorf("%d labels of a node, want its one class", len(record))
		}
		if v, err := strconv.ParseFloat(record[0], 64); err != nil || v != math.Trunc(v) && !math.IsNaN(v) {
			return fmt.Errorf("%.40q is not a class", record[0])
		} else if !math.IsNaN(v) {
			label = strconv.FormatInt(int64(v), 10)
		}
		b.labels, b.split = append(b.labels, label), append(b.split, "")
		return nil
	})
	node := func(text string) (int32, error) {
		i, err := strconv.Atoi(text)
		if err != nil || i < 0 || i >= x.Rows {
			return 0, fmt.Errorf("%.40q is not the number of one of %d nodes", text, x.Rows)
		}
		return int32(i), nil
	}
	records(ogbEdges, func(record []string) error {
		if len(record) != 2 {
			return fmt.Errorf("%d numbers, want the two ends of an edge", len(record))
		}
		i, errSource := node(record[0])
		j, errTarget := node(record[1])
		if i == j && errSource == nil {
			b.loops++
		} else {
			b.edges = append(b.edges, [2]int32{i, j})
		}
		return errors.Join(errSource, errTarget)
	})
	if err == nil && len(b.labels) != x.Rows {
		err = fmt.Errorf("%s: %d labels of %d nodes", ogbLabels, len(b.labels), x.Rows)
	}
	splits, _ := filepath.Glob(filepath.Join(escapeGlob(dir), ogbSplits)) // a good pattern
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
				case b.split[i] != "":
					return fmt.Errorf("node %d is in %s, too", i, b.split[i])
				case b.labels[i] == "":
					return fmt.Errorf("node %d has no class, but a %s node needs one", i, role)
				}
				b.split[i] = role
				return nil
			})
		}
	}
	if err != nil {
		return nil, err
	}
	for i, role := range b.split {
		if role == "" && (len(splits) > 0 || b.labels[i] == "") {
			b.split[i] = "unlabelled"
		}
	}
	d.IDs, d.X.Dense = Decimals(x.Rows), x
	d.Adj = undirected(d, x.Rows, b.edges, b.loops)
	if err := errors.Join(b.classes(d), b.roles(d, len(splits) > 0, o.SplitSeed)); err != nil {
		return nil, err
	}
	d.checkTrained()
	return d, nil
}
