package dataset

import (
	"errors"
	"fmt"

	"rivulet/dataset/numpy"
	"rivulet/dataset/pickle"
	"rivulet/graph"
)

// readGraph takes each listed neighbour as an undirected edge.
func (p *planetoid) readGraph(lists *pickle.Dict, size int, d *Dataset) error {
	directed, loops, err := p.listed(lists, size)
	if err != nil {
		return err
	}
	d.undirect(p.nodes, directed, loops)
	return nil
}

// listed returns each neighbour that a node lists as node<<32 | neighbour, and the number of self-loops, which are
// left out. A pickle can mention one list many times, but not so that there are more neighbours than bytes.
func (p *planetoid) listed(lists *pickle.Dict, size int) (directed []uint64, loops int, err error) {
	seen := make([]bool, p.nodes)
	for k, key := range lists.Keys {
		i, err := p.node(key)
		if err != nil {
			return nil, 0, fmt.Errorf("key [%d] of the dict: %w", k, err)
		}
		list, ok := lists.Values[k].(*pickle.List)
		if !ok {
			return nil, 0, fmt.Errorf("node %d: neighbours are %T, want a list", i, lists.Values[k])
		}
		if seen[i] {
			return nil, 0, fmt.Errorf("node %d occurs twice", i)
		}
		seen[i] = true
		if len(directed)+loops+len(list.Items) > size {
			return nil, 0, errors.New("more neighbours than the pickle has bytes: nodes share their lists")
		}
		for at, item := range list.Items {
			j, err := p.node(item)
			if err != nil {
				return nil, 0, fmt.Errorf("node %d: neighbour [%d]: %w", i, at, err)
			}
			if i == j {
				loops++
				continue
			}
			directed = append(directed, uint64(i)<<32|uint64(j))
		}
	}
	return directed, loops, nil
}

func (p *planetoid) node(v any) (uint32, error) {
	i, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("it is %T, want an integer", v)
	}
	if i < 0 || i >= int64(p.nodes) {
		return 0, fmt.Errorf("node %d is outside 0…%d", i, p.nodes-1)
	}
	return uint32(i), nil
}

// pickledCSR checks and converts a csr_matrix.
func pickledCSR(o *pickle.Object) (*graph.CSR, error) {
	if o.State == nil {
		return nil, errors.New("the matrix has no content")
	}
	m := &graph.CSR{}
	shape, _ := o.State.Get("_shape")
	size, ok := shape.(pickle.Tuple)
	if !ok || len(size) != 2 {
		return nil, fmt.Errorf("attribute _shape is %T, want rows and columns", shape)
	}
	for k, to := range []*int{&m.Rows, &m.Cols} {
		v, _ := size[k].(int64)
		if err := numpy.CheckSize(k, v); err != nil {
			return nil, fmt.Errorf("attribute _shape: %w", err)
		}
		*to = int(v)
	}
	return m, numpy.ReadContent(func(name string, decode func(*numpy.Array) error) error {
		value, _ := o.State.Get(name)
		pickled, ok := value.(*pickle.Array)
		if !ok {
			return fmt.Errorf("attribute %s is %T, want an array", name, value)
		}
		a, err := numpy.OpenPickled(pickled)
		if err == nil {
			err = decode(a)
		}
		if err != nil {
			return fmt.Errorf("attribute %s: %w", name, err)
		}
		return nil
	}, m)
}
