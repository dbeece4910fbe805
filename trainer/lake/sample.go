package lake

import (
	"fmt"
	"path/filepath"
	"slices"

	"rivulet/dataset"
	"rivulet/graph"
)

// Files of a directory with a part of the graph.
const (
	nodesFile = "nodes.parquet"
	edgesFile = "edges.parquet"
)

// Roles of nodes.
const (
	train      = "train"
	unlabelled = "unlabelled"
	validation = "val"
	test       = "test"
)

// Sample is a part of the graph in memory.
type Sample struct {
	*dataset.Dataset
	Keys    []int64   // of its nodes: the values of their column node
	Degrees []float32 // true ones, by edges to nodes of T
}

// edge is a row of edges.
type edge struct{ from, to int64 }

// ReadSample reads the nodes of a directory and the edges among them. All are in a role.
func ReadSample(dir string, f *Facts) (*Sample, error) {
	s, edges, err := readPart(dir, f)
	if err != nil {
		return nil, err
	}
	places := s.places()
	pairs := make([][2]int32, 0, len(edges))
	for _, e := range edges {
		from, known := places[e.from]
		to, there := places[e.to]
		if !known || !there {
			return nil, fmt.Errorf("%s: an edge from node %d to %d, and %s has not both", filepath.Join(dir, edgesFile),
				e.from, e.to, nodesFile)
		}
		pairs = append(pairs, [2]int32{from, to})
	}
	s.Adj = graph.Symmetric(len(s.IDs), pairs)
	s.Adj.SortRows()
	if len(s.Validation) == 0 {
		return nil, fmt.Errorf("%s has no validation node", filepath.Join(dir, nodesFile))
	}
	return s, nil
}

// places are the places of nodes.
func (s *Sample) places() map[int64]int32 {
	places := make(map[int64]int32, len(s.Keys))
	for k, key := range s.Keys {
		places[key] = int32(k)
	}
	return places
}

// OriginalFirst is [dataset.Dataset.OriginalFirst] with the keys and degrees in the same order.
func (s *Sample) OriginalFirst() *Sample {
	original := slices.Sorted(slices.Values(slices.Concat(s.Train, s.Unlabelled)))
	order := slices.Concat(original, s.Validation, s.Test)
	return &Sample{s.Dataset.Renumbered(order), graph.Pick(s.Keys, order), graph.Pick(s.Degrees, order)}
}

// readPart reads the nodes and the edges of a directory; the data set has no edges yet.
func readPart(dir string, f *Facts) (*Sample, []edge, error) {
	d := &dataset.Dataset{Name: f.Name, Classes: f.Names()}
	s, x := &Sample{Dataset: d}, features{width: f.Features}
	var key int64
	var id, label, split string
	var degree float32
	who := func() string { return fmt.Sprintf("node %.100q", id) }
	seen := map[int64]bool{}
	path := filepath.Join(dir, nodesFile)
	err := eachRow(path, append(x.fields(), field{"node", false, integer(&key)}, field{"id", false, text(&id)},
		field{"label", false, text(&label)}, field{"split", false, text(&split)},
		field{"degree", true, number(&degree)}), func() error {
		i := int32(len(s.Keys))
		y := int32(slices.Index(d.Classes, label))
		if label != "" && y < 0 {
			return fmt.Errorf("%s has class %.100q, which is not in the facts", who(), label)
		}
		switch {
		case seen[key]:
			return fmt.Errorf("node %d is there twice", key)
		case id == "":
			return fmt.Errorf("node %d has no id", key)
		case split == train && y >= 0:
			d.Train = append(d.Train, i)
		case split == train || split == unlabelled:
			d.Unlabelled, y = append(d.Unlabelled, i), -1
		case split == validation && y >= 0:
			d.Validation = append(d.Validation, i)
		case split == test && y >= 0:
			d.Test = append(d.Test, i)
		default:
			return fmt.Errorf("%s has split %.40q and class %.100q: want %s or %s, or %s or %s with a class", who(), split,
				label, train, unlabelled, validation, test)
		}
		seen[key] = true
		s.Keys, s.Degrees, d.IDs = append(s.Keys, key), append(s.Degrees, degree), append(d.IDs, id)
		d.Labels = append(d.Labels, y)
		return x.add(who)
	})
	if err == nil && len(s.Keys) == 0 {
		err = fmt.Errorf("%s: there are no nodes", path)
	}
	if err != nil {
		return nil, nil, err
	}
	d.X = x.take()
	d.BagOfWords = d.X.Sparse != nil
	edges, err := readEdges(filepath.Join(dir, edgesFile))
	return s, edges, err
}

func readEdges(path string) (edges []edge, err error) {
	var e edge
	err = eachRow(path, []field{{"src", false, integer(&e.from)}, {"dst", false, integer(&e.to)}}, func() error {
		edges = append(edges, e)
		return nil
	})
	return edges, err
}
