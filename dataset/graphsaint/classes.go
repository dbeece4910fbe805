package graphsaint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ReadClasses reads class_map.json: node index as a string -> class, an int, a text or a one-hot list. It returns the
// name of each node's class, empty where the file does not name the node or maps it to null. The class of an int or a
// list is the number in decimal.
func ReadClasses(r io.Reader, nodes int) ([]string, error) {
	names := make([]string, nodes)
	form := ""
	err := eachNode(r, nodes, func(raw json.RawMessage, node int) error {
		class, as, err := parseClass(raw)
		if err != nil {
			return fmt.Errorf("node %d: %w", node, err)
		}
		if class == "" {
			return nil
		}
		if form != "" && as != form {
			return fmt.Errorf("node %d: class given as %s, others as %s", node, as, form)
		}
		form = as
		names[node] = class
		return nil
	})
	if err == nil && form == "" {
		err = errors.New("no node has a class")
	}
	return names, err
}

// eachNode calls use with the value of each node of class_map.json, whose keys are indices of nodes.
func eachNode(r io.Reader, nodes int, use func(raw json.RawMessage, node int) error) error {
	seen := make([]bool, nodes)
	return eachMember(r, func(dec *json.Decoder, key string) error {
		node, err := strconv.Atoi(key)
		if err != nil || node < 0 || node >= nodes {
			return fmt.Errorf("key %q is not a node index of 0…%d", key, nodes-1)
		}
		if seen[node] {
			return fmt.Errorf("node %d occurs twice", node)
		}
		seen[node] = true
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("node %d: %w", node, whole(err))
		}
		return use(raw, node)
	})
}

// parseClass returns the name of the class of one node, empty for null, and the form in which it is given.
func parseClass(raw json.RawMessage) (class, form string, err error) {
	switch {
	case string(raw) == "null":
		return "", "", nil
	case raw[0] == '"':
		if err := json.Unmarshal(raw, &class); err != nil || class == "" {
			return "", "", fmt.Errorf("class %.40s is no name", raw)
		}
		return class, "a text", nil
	case raw[0] != '[':
		c, err := strconv.Atoi(string(raw))
		if err != nil || c < 0 {
			return "", "", fmt.Errorf("class %.40s is not an integer ≥ 0", raw)
		}
		return strconv.Itoa(c), "an int", nil
	}
	var flags []float64
	if err := json.Unmarshal(raw, &flags); err != nil {
		return "", "", fmt.Errorf("class list %.40s: %w", raw, err)
	}
	set := 0
	for c, v := range flags {
		switch v {
		case 0:
		case 1:
			class = strconv.Itoa(c)
			set++
		default:
			return "", "", fmt.Errorf("class list has %v at [%d], want 0 or 1", v, c)
		}
	}
	switch {
	case set > 1:
		return "", "", fmt.Errorf("%d of %d classes are set: %w", set, len(flags), ErrLabels)
	case set == 0:
		return "", "", fmt.Errorf("none of its %d classes is set: %w", len(flags), ErrLabels)
	}
	return class, fmt.Sprintf("a list of %d", len(flags)), nil
}

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
