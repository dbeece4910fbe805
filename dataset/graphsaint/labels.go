package graphsaint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ErrLabels says that a node of class_map.json has several classes, or none in its list: they are labels.
var ErrLabels = errors.New("a node with several classes, or with none in its list, is of task labels")

// ReadLabels reads class_map.json as labels: each node has a list of 0 and 1, one for each label. It returns the names
// of each node's labels, nil where the file does not name the node or maps it to null, and of all: their numbers in
// decimal.
func ReadLabels(r io.Reader, nodes int) (sets [][]string, names []string, err error) {
	sets = make([][]string, nodes)
	first := true
	err = eachNode(r, nodes, func(raw json.RawMessage, node int) error {
		var flags []float64
		if err := json.Unmarshal(raw, &flags); err != nil {
			return fmt.Errorf("node %d: want a list of 0 and 1: %w", node, err)
		}
		if flags == nil { // null
			return nil
		}
		for k := range flags {
			if first {
				names = append(names, strconv.Itoa(k))
			}
		}
		first = false
		if len(flags) != len(names) {
			return fmt.Errorf("node %d: class given as a list of %d, others as a list of %d", node, len(flags), len(names))
		}
		sets[node] = []string{}
		for k, v := range flags {
			if v != 0 && v != 1 {
				return fmt.Errorf("node %d: class list has %v at [%d], want 0 or 1", node, v, k)
			}
			if v == 1 {
				sets[node] = append(sets[node], names[k])
			}
		}
		return nil
	})
	return sets, names, err
}
