package weights

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// parts are the tensors of one layer by the tails of their names. All matrices of a layer are of one shape.
type parts struct {
	matrices []string // that every layer has
	biases   []string // that a layer may have
}

// layers are the names of the layers in a state: of all prefixes that come with the first matrix.
func (s State) layers(p parts) []string { return s.prefixes(p.matrices[0]) }

// prefixes returns the parts before a tail in the names of matrices.
func (s State) prefixes(tail string) []string {
	var found []string
	for _, name := range s.names() {
		if layer, ok := layerOf(name, tail); ok && len(s[name].Shape) == 2 {
			found = append(found, layer)
		}
	}
	return found
}

// layerOf returns the part before a tail: conv1 of conv1.lin.weight, nothing of lin.weight.
func layerOf(name, tail string) (layer string, ok bool) {
	layer, ok = strings.CutSuffix(name, tail)
	if !ok || layer == "" {
		return "", ok
	}
	return strings.CutSuffix(layer, ".")
}

// tensor is the name of a layer's tensor.
func tensor(layer, tail string) string {
	if layer == "" {
		return tail
	}
	return layer + "." + tail
}

// order puts layers one after the other, the first reading the features: by the number in which their names differ,
// else by the shapes.
func (s State) order(layers []string, p parts, features, classes int) ([]string, error) {
	if sorted, ok := byNumber(layers); ok {
		return sorted, nil
	}
	fitting := s.chains(layers, p, features, classes)
	if len(fitting) == 1 {
		return fitting[0], nil
	}
	reason := "fit in no order"
	if len(fitting) > 1 {
		reason = "fit in more than one order"
	}
	names := make([]string, len(layers))
	for k, layer := range layers {
		names[k] = tensor(layer, p.matrices[0])
	}
	return nil, fmt.Errorf("which of %s is the first layer: their names do not say, and for %d features and %d classes "+
		"they %s",
		s.list(names), features, classes, reason)
}

// chains are the orders of layers in which each reads as many columns as the one before it gives.
func (s State) chains(layers []string, p parts, in, classes int) (orders [][]string) {
	for k, layer := range layers {
		shape := s[tensor(layer, p.matrices[0])].Shape
		reads, out := shape[1], shape[0]
		rest := slices.Delete(slices.Clone(layers), k, k+1)
		switch {
		case reads != in:
		case len(rest) == 0 && out == classes:
			orders = append(orders, []string{layer})
		default:
			for _, order := range s.chains(rest, p, out, classes) {
				orders = append(orders, append([]string{layer}, order...))
			}
		}
	}
	return orders
}

var digits = regexp.MustCompile(`\d+`)

// byNumber sorts names that differ in one number only.
func byNumber(names []string) (sorted []string, ok bool) {
	at := map[int]string{}
	place := -1 // position of that number among a name's
	for _, name := range names {
		numbers, first := digits.FindAllString(name, -1), digits.FindAllString(names[0], -1)
		if digits.ReplaceAllString(name, "#") != digits.ReplaceAllString(names[0], "#") {
			return nil, false
		}
		for k := range numbers {
			if numbers[k] != first[k] && place >= 0 && place != k {
				return nil, false
			}
			if numbers[k] != first[k] {
				place = k
			}
		}
	}
	for _, name := range names {
		if len(names) == 1 {
			return names, true
		}
		if place < 0 {
			return nil, false
		}
		number, err := strconv.Atoi(digits.FindAllString(name, -1)[place])
		if _, twice := at[number]; err != nil || twice { // beyond an int, or 1 and 01
			return nil, false
		}
		at[number] = name
	}
	for _, number := range slices.Sorted(maps.Keys(at)) {
		sorted = append(sorted, at[number])
	}
	return sorted, true
}
