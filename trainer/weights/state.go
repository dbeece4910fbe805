package weights

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"rivulet/artifact/safetensors"
)

// State is a state_dict: tensors by name, matrices as PyTorch has them, [out, in].
type State map[string]safetensors.Array

// Read reads a safetensors file. The error names the file.
func Read(path string) (State, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading weights: %w", err)
	}
	state, err := decode(file)
	if err != nil {
		return nil, fmt.Errorf("reading weights %s: %w", path, err)
	}
	return state, nil
}

// decode reads the content of a file. PyTorch's own format is a zip, before 1.6 a pickle, of code to run.
func decode(file []byte) (State, error) {
	if bytes.HasPrefix(file, []byte("PK\x03\x04")) || bytes.HasPrefix(file, []byte("\x80\x02")) {
		return nil, errors.New("a file of torch.save, want one of safetensors.torch.save_file(model.state_dict(), path)")
	}
	arrays, err := safetensors.DecodeArrays(file)
	if err != nil {
		return nil, err
	}
	if len(arrays) == 0 {
		return nil, errors.New("the file has no tensors")
	}
	return arrays, nil
}

// list are tensors for a message: "conv1.bias [256], conv1.lin.weight [256 745]".
func (s State) list(names []string) string {
	text := make([]string, len(names))
	for k, name := range names {
		text[k] = fmt.Sprintf("%s %v", name, s[name].Shape)
	}
	return strings.Join(text, ", ")
}

func (s State) has(name string) bool {
	_, ok := s[name]
	return ok
}

func (s State) names() []string { return slices.Sorted(maps.Keys(s)) }
