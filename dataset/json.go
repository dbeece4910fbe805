package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"rivulet/dataset/table"
)

// readClassMap reads class_map.json: node index as a string -> class, an int, a text or a one-hot list. Nodes that it
// does not name, or maps to null, get -1. Classes are numbered in the order of their names, as in tables; classes
// without nodes are left out.
func readClassMap(r io.Reader, nodes int) (labels []int32, classes []string, err error) {
	names := make([]string, nodes)
	seen := make([]bool, nodes)
	form := ""
	err = eachMember(r, func(dec *json.Decoder, key string) error {
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
	if err != nil {
		return nil, nil, err
	}
	labels, classes = numbered(names)
	if len(classes) == 0 {
		return nil, nil, errors.New("no node has a class")
	}
	return labels, classes, nil
}

// numbered returns the classes of names, in the order of [table.Order], and each node's class, -1 for an empty name.
func numbered(names []string) (labels []int32, classes []string) {
	index := map[string]int32{}
	for _, name := range names {
		if name != "" {
			index[name] = 0
		}
	}
	classes = slices.Collect(maps.Keys(index))
	slices.SortFunc(classes, table.Order(classes))
	for c, name := range classes {
		index[name] = int32(c)
	}
	index[""] = -1
	labels = make([]int32, len(names))
	for i, name := range names {
		labels[i] = index[name]
	}
	return labels, classes
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
		return "", "", fmt.Errorf("%d of %d classes are set: data with several classes a node is not supported",
			set, len(flags))
	case set == 0:
		return "", "", fmt.Errorf("none of its %d classes is set", len(flags))
	}
	return class, fmt.Sprintf("a list of %d", len(flags)), nil
}

// CheckContiguous refuses a class without nodes.
func CheckContiguous(labels []int32, classes int) error {
	if classes == 0 {
		return errors.New("no node has a class")
	}
	counts := make([]int, classes)
	for _, c := range labels {
		if c >= 0 {
			counts[c]++
		}
	}
	if c := slices.Index(counts, 0); c >= 0 {
		return fmt.Errorf("no node has class %d, though classes go up to %d", c, classes-1)
	}
	return nil
}

// roles are the node lists of role.json, ascending.
type roles struct{ train, validation, test, unlabelled []int32 }

// list returns the list of a role for filling, nil for a name that is not a role.
func (r *roles) list(name string) *[]int32 {
	switch name {
	case "tr":
		return &r.train
	case "va":
		return &r.validation
	case "te":
		return &r.test
	case "un":
		return &r.unlabelled
	}
	return nil
}

// readRoles reads role.json: tr, va, te and optionally un, disjoint lists of node indices. Errors name the list.
func readRoles(src io.Reader, nodes int) (*roles, error) {
	r := &roles{}
	owner := make([]string, nodes)
	read := map[string]bool{}
	err := eachMember(src, func(dec *json.Decoder, name string) error {
		list := r.list(name)
		if list == nil {
			return fmt.Errorf("role %q is not one of tr, va, te, un", name)
		}
		if read[name] {
			return fmt.Errorf("array %s: it occurs twice", name)
		}
		read[name] = true
		if err := readRole(dec, name, owner, list); err != nil {
			return fmt.Errorf("array %s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"tr", "va", "te"} {
		if len(*r.list(name)) == 0 {
			return nil, fmt.Errorf("array %s: it is missing or empty", name)
		}
	}
	return r, nil
}

func readRole(dec *json.Decoder, name string, owner []string, list *[]int32) error {
	err := eachElement(dec, func(token json.Token) error {
		number, _ := token.(json.Number)
		node, err := strconv.Atoi(string(number))
		if err != nil {
			return fmt.Errorf("[%d] is %v, want a node index", len(*list), token)
		}
		if node < 0 || node >= len(owner) {
			return fmt.Errorf("[%d] is %d, outside 0…%d", len(*list), node, len(owner)-1)
		}
		if owner[node] != "" {
			return fmt.Errorf("[%d] is node %d, which is already in %s", len(*list), node, owner[node])
		}
		owner[node] = name
		*list = append(*list, int32(node))
		return nil
	})
	slices.Sort(*list)
	return err
}

// eachElement walks a JSON list of plain values.
func eachElement(dec *json.Decoder, f func(json.Token) error) error {
	if err := expect(dec, json.Delim('[')); err != nil {
		return err
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return whole(err)
		}
		if err := f(token); err != nil {
			return err
		}
	}
	return expect(dec, json.Delim(']'))
}

// eachMember walks a JSON object without holding all of it, and sees every key: encoding/json would take the last of
// two equal keys.
func eachMember(r io.Reader, f func(dec *json.Decoder, key string) error) error {
	dec := json.NewDecoder(r)
	dec.UseNumber()
	if err := expect(dec, json.Delim('{')); err != nil {
		return err
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return whole(err)
		}
		key, ok := token.(string)
		if !ok {
			return fmt.Errorf("key %v is not a string", token)
		}
		if err := f(dec, key); err != nil {
			return err
		}
	}
	if err := expect(dec, json.Delim('}')); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("content behind the JSON object")
	}
	return nil
}

func expect(dec *json.Decoder, want json.Delim) error {
	token, err := dec.Token()
	if err != nil {
		return whole(err)
	}
	if token != want {
		return fmt.Errorf("found %v where %q should be", token, want)
	}
	return nil
}

// whole turns the end of input in the middle of a JSON text into a plain error.
func whole(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON text ends too early")
	}
	return err
}
