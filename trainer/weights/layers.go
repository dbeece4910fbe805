package weights

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// parts are the tensors of one layer by the tails of their names. All matrices of a layer are of one shape.
type parts struct {
	matrices []string // which every layer has
	bias     string   // which a layer may have
}

// layers are the names of the layers in a state: of all prefixes that come with the first matrix.
func (s State) layers(p parts) []string {
	var found []string
	for _, name := range s.names() {
		if layer, ok := layerOf(name, p.matrices[0]); ok && len(s[name].Shape) == 2 {
			found = append(found, layer)
		}
	}
	return found
}

// layerOf is what stands before a tail: conv1 of conv1.lin.weight, nothing of lin.weight.
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

// order puts layers one after the other, the first reading the features: by the number in which their names differ, else
// by the shapes.
func (s State) order(layers []string, p parts, features, classes int) ([]string, error) {
	if len(layers) < 2 {
		return layers, nil
	}
	if sorted, ok := byNumber(layers[0], layers[1]); ok {
		return sorted, nil
	}
	var fitting [][]string
	for _, try := range [][]string{{layers[0], layers[1]}, {layers[1], layers[0]}} {
		first, second := s[tensor(try[0], p.matrices[0])].Shape, s[tensor(try[1], p.matrices[0])].Shape
		if first[1] == features && first[0] == second[1] && second[0] == classes {
			fitting = append(fitting, try)
		}
	}
	if len(fitting) != 1 {
		reason := "fit in neither order"
		if len(fitting) == 2 {
			reason = "fit in both orders"
		}
		return nil, fmt.Errorf("which of %s is the first layer: their names do not say, and for %d features and %d classes they %s",
			s.list([]string{tensor(layers[0], p.matrices[0]), tensor(layers[1], p.matrices[0])}), features, classes, reason)
	}
	return fitting[0], nil
}

var digits = regexp.MustCompile(`\d+`)

// byNumber sorts two names that are the same but for one number.
func byNumber(a, b string) (sorted []string, ok bool) {
	if digits.ReplaceAllString(a, "#") != digits.ReplaceAllString(b, "#") {
		return nil, false
	}
	numbersA, numbersB := digits.FindAllString(a, -1), digits.FindAllString(b, -1)
	at := -1
	for k := range numbersA {
		if numbersA[k] != numbersB[k] {
			if at >= 0 {
				return nil, false
			}
			at = k
		}
	}
	if at < 0 {
		return nil, false
	}
	numberA, errA := strconv.Atoi(numbersA[at])
	numberB, errB := strconv.Atoi(numbersB[at])
	if errA != nil || errB != nil || numberA == numberB { // beyond an int, or 1 and 01
		return nil, false
	}
	if numberA < numberB {
		return []string{a, b}, true
	}
	return []string{b, a}, true
}
