package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"rivulet/dataset/file"
	"rivulet/dataset/numpy"
	"rivulet/graph"
)

var gnnBenchmarkFormat = Format{
	Name:  GNNBenchmark,
	Looks: "a file .npz with adj_data and labels, or a directory with one file .npz that holds them",
	Found: func(path string) bool {
		npz, err := gnnBenchmarkFile(path)
		if err != nil {
			return errors.Is(err, errSeveral)
		}
		found := false
		_ = file.Read(filepath.Dir(npz), filepath.Base(npz), file.MaxBytes, func(f *os.File, size int64) error {
			z, err := numpy.OpenArchive(f, size, file.MaxBytes)
			found = err == nil && z.Has("adj_data") && z.Has("labels")
			return nil
		})
		return found
	},
	Read: func(path string, o OpenOptions) (*Dataset, error) {
		npz, err := gnnBenchmarkFile(path)
		if err != nil {
			return nil, err
		}
		d := &Dataset{Name: strings.TrimSuffix(filepath.Base(npz), ".npz")}
		return d, file.Read(filepath.Dir(npz), filepath.Base(npz), file.MaxBytes,
			func(f *os.File, size int64) error {
				z, err := numpy.OpenArchive(f, size, file.MaxBytes)
				if err != nil {
					return err
				}
				return d.readGNNBenchmark(z, o)
			})
	},
}

// gnnBenchmarkFile returns path, or the one npz file in it. A directory in GraphSAINT layout is not of this format.
func gnnBenchmarkFile(path string) (string, error) {
	if strings.HasSuffix(path, ".npz") {
		return path, nil
	}
	found, err := filepath.Glob(filepath.Join(escapeGlob(path), "*.npz"))
	switch {
	case err != nil:
		return "", err
	case len(found) == 0 || hasFile(adjFile)(path):
		return "", errors.New("there is no file .npz")
	case len(found) > 1:
		return "", fmt.Errorf("%w: give %s, or another, as the path", errSeveral, found[0])
	}
	return found[0], nil
}

// readGNNBenchmark reads the archive of Shchur et al., "Pitfalls of Graph Neural Network Evaluation" (2018):
//
//	adj_data, adj_indices, adj_indptr, adj_shape       CSR adjacency, each edge once or twice
//	attr_data, attr_indices, attr_indptr, attr_shape   CSR features, or attr_matrix, dense
//	labels                                             class of each node as an integer; -1: none
//	class_names, node_names                            optional lists of strings
//
// Their own code takes the graph as undirected and draws a split each time anew.
func (d *Dataset) readGNNBenchmark(z *numpy.Archive, o OpenOptions) error {
	adj, err := numpy.ReadCompressed(z.Prefixed("adj_"), false)
	if err != nil {
		return err
	}
	if adj.Rows != adj.Cols {
		return fmt.Errorf("array adj_shape: %d×%d, want a square matrix", adj.Rows, adj.Cols)
	}
	if err := checkWeights(adj); err != nil {
		return fmt.Errorf("array adj_data: %w", err)
	}
	if d.IDs, err = d.names(z, "node_names", adj.Rows); err != nil {
		return err
	}
	d.symmetrise(adj)
	if err := d.readAttributes(z); err != nil {
		return err
	}
	classes := 0
	err = z.Read("labels", func(a *numpy.Array) error {
		d.Labels, classes, err = decodeLabels(a, d.Nodes())
		return err
	})
	if err != nil {
		return err
	}
	if d.Classes, err = d.names(z, "class_names", classes); err != nil {
		return err
	}
	return d.drawSplit(o.SplitSeed)
}

// symmetrise drops self-loops and adds directions of edges that stand in one direction only.
func (d *Dataset) symmetrise(adj *graph.CSR) {
	var directed []uint64
	for i := range adj.Rows {
		columns, _ := adj.Row(i)
		for _, j := range columns {
			if int(j) != i {
				directed = append(directed, uint64(i)<<32|uint64(j))
			}
		}
	}
	if loops := adj.NNZ() - len(directed); loops > 0 {
		d.note("%d self-loops were dropped: a model adds its own.", loops)
	}
	var oneWay int
	if d.Adj, _, oneWay = undirect(adj.Rows, directed); oneWay > 0 {
		d.note("%d edges that stood in one direction got the other.", oneWay)
	}
}

func (d *Dataset) readAttributes(z *numpy.Archive) (err error) {
	last := "attr_matrix"
	if z.Has(last) {
		err = z.Read(last, func(a *numpy.Array) (err error) {
			d.X.Dense, err = numpy.ReadDense(a)
			return err
		})
	} else {
		last, d.BagOfWords = "attr_shape", true
		d.X.Sparse, err = numpy.ReadCompressed(z.Prefixed("attr_"), false)
	}
	if err != nil {
		return err
	}
	if err := d.checkFeatureRows(); err != nil {
		return fmt.Errorf("array %s: %w", last, err)
	}
	return nil
}

// decodeLabels reads classes 0…C-1, each of which must occur, and -1 for none.
func decodeLabels(a *numpy.Array, nodes int) (labels []int32, classes int, err error) {
	if numpy.Elements(a) != nodes {
		return nil, 0, fmt.Errorf("shape %v, want a class for each of %d nodes", a.Shape, nodes)
	}
	labels = make([]int32, nodes)
	err = a.Ints(func(k int, v int64) error {
		if v < -1 || v >= int64(nodes) {
			return fmt.Errorf("[%d] is %d, outside -1…%d", k, v, nodes-1)
		}
		labels[k] = int32(v)
		classes = max(classes, int(v)+1)
		return nil
	})
	if err == nil {
		err = CheckContiguous(labels, classes)
	}
	return labels, classes, err
}

// names reads an optional list of n distinct names. If it is missing, or of Python objects, the names are indices.
func (d *Dataset) names(z *numpy.Archive, list string, n int) ([]string, error) {
	if !z.Has(list) {
		return Decimals(n), nil
	}
	var names []string
	err := z.Read(list, func(a *numpy.Array) (err error) {
		if numpy.Elements(a) != n {
			return fmt.Errorf("shape %v, want %d names", a.Shape, n)
		}
		if names, err = a.Texts(); err != nil {
			return err
		}
		return checkNames(names, n)
	})
	if errors.Is(err, numpy.ErrElementType) {
		d.note("%s are Python objects and were ignored: their indices are used instead.", list)
		return Decimals(n), nil
	}
	return names, err
}
