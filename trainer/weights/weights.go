// Package weights reads the weights W_O of a model that was trained elsewhere, from one safetensors file. Its tensors
// have the names and shapes of the weights in models/NAME.safetensors of an artifact (artifact/FORMAT.md): matrices are
// [in, out], for y = x W + b, biases [1, out], and α and the number of hops are tensors, too.
// rivulet_mcond.export_model writes such a file of a module of PyTorch Geometric or DGL.
package weights

import (
	"fmt"
	"maps"
	"os"
	"slices"

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
	var params []infer.Param
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		a := arrays[name]
		switch {
		case len(a.Shape) != 2:
			return nil, fmt.Errorf("tensor %s is %v, want a matrix [in, out] or a bias [1, out]: "+
				"python -m rivulet_mcond.export_model writes such tensors of a module", name, a.Shape)
		case a.Values == nil:
			return nil, fmt.Errorf("tensor %s is of %s, want F32, F64, F16 or BF16", name, a.Type)
		}
		params = append(params, infer.Param{Name: name,
			Value: &graph.Dense{Rows: a.Shape[0], Cols: a.Shape[1], Data: a.Values}})
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
