// Package weights reads the weights W_O of a model that was trained elsewhere, from one safetensors file. Its tensors
// have the names and shapes of the weights in models/NAME.safetensors of an artifact (artifact/FORMAT.md): matrices are
// [in, out], for y = x W + b, biases [1, out], and α and the number of hops are tensors, too. Matrices that are
// [out, in] with biases [out], as a state_dict has them, are read as well.
// rivulet_mcond.export_model writes such a file of a module of PyTorch Geometric or DGL.
package weights

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"rivulet/artifact/safetensors"
	"rivulet/graph"
	"rivulet/infer"
)

// Read returns the model of a file for data of d features and so many classes. The error names the file and the tensor.
func Read(path, model string, features, classes int) (infer.Model, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading weights: %w", err)
	}
	m, err := decode(file, model, features, classes)
	if err != nil {
		return nil, fmt.Errorf("reading weights %s: %w", path, err)
	}
	return m, nil
}

func decode(file []byte, model string, features, classes int) (infer.Model, error) {
	arrays, err := safetensors.DecodeArrays(file)
	if err != nil {
		return nil, err
	}
	m, err := build(arrays, model, features, classes, false)
	if err == nil && !fromPyTorch(arrays) {
		return m, nil
	}
	if turned, other := build(arrays, model, features, classes, true); other == nil {
		return turned, nil
	}
	return m, err
}

// fromPyTorch reports whether biases have one dimension, as in a state_dict. Its matrices are [out, in], also where a
// square one would fit either way.
func fromPyTorch(arrays map[string]safetensors.Array) bool {
	for _, a := range arrays {
		if len(a.Shape) == 1 {
			return true
		}
	}
	return false
}

func isBias(name string) bool { return strings.HasSuffix(name, "bias") }

// build returns the model of a file's tensors, whose matrices are [in, out], or turned.
func build(arrays map[string]safetensors.Array, model string, features, classes int, turned bool) (infer.Model, error) {
	var params []infer.Param
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		a := arrays[name]
		if a.Values == nil {
			return nil, fmt.Errorf("tensor %s is of %s, want F32, F64, F16 or BF16", name, a.Type)
		}
		var value *graph.Dense
		switch {
		case len(a.Shape) == 1 && isBias(name):
			value = &graph.Dense{Rows: 1, Cols: a.Shape[0], Data: a.Values}
		case len(a.Shape) != 2:
			return nil, fmt.Errorf("tensor %s is %v, want a matrix [in, out] or a bias [1, out], or [out, in] and [out] as "+
				"PyTorch has them: python -m rivulet_mcond.export_model writes the tensors of a module", name, a.Shape)
		default:
			value = &graph.Dense{Rows: a.Shape[0], Cols: a.Shape[1], Data: a.Values}
			if turned && !isBias(name) {
				value = value.Transposed()
			}
		}
		params = append(params, infer.Param{Name: name, Value: value})
	}
	m, err := infer.Build(model, params)
	if err != nil {
		return nil, fmt.Errorf("%w; the file has %q", err, slices.Sorted(maps.Keys(arrays)))
	}
	first, last := m.Params()[0], m.Layers[len(m.Layers)-1]
	if first.Value.Rows != features {
		return nil, fmt.Errorf("tensor %s is %d×%d, and the data have %d features", first.Name, first.Value.Rows,
			first.Value.Cols, features)
	}
	if last.Width() != classes {
		return nil, fmt.Errorf("the last layer has %d outputs, and the data have %d classes", last.Width(), classes)
	}
	return m, nil
}
