package graphsaint

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Roles are the lists of nodes of role.json, ascending.
type Roles struct{ Train, Validation, Test, Unlabelled []int32 }

// list returns the list of a role for filling, nil for a name that is not a role.
func (r *Roles) list(name string) *[]int32 {
	switch name {
	case "tr":
		return &r.Train
	case "va":
		return &r.Validation
	case "te":
		return &r.Test
	case "un":
		return &r.Unlabelled
	}
	return nil
}

// ReadRoles reads role.json: tr, va, te and optionally un, disjoint lists of node indices. Errors name the list.
func ReadRoles(src io.Reader, nodes int) (*Roles, error) {
	r := &Roles{}
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
