package lake

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"rivulet/artifact"
	"rivulet/dataset/table"
)

// Facts are counts over the whole graph.
type Facts struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"` // of the data
	Nodes       int    `json:"nodes"`       // of T
	Edges       int    `json:"edges"`       // of T, each once
	Features    int    `json:"features"`
	// Classes has for each class the number of its training nodes.
	Classes map[string]int `json:"classes"`
}

// ReadFacts reads a file of JSON.
func ReadFacts(path string) (*Facts, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := &Facts{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// check returns an error for facts that no artifact can have: at the end of a run it would come late.
func (f *Facts) check() error {
	for _, name := range f.Names() {
		if n := f.Classes[name]; n < 0 {
			return fmt.Errorf("classes: %q has %d training nodes", name, n)
		}
	}
	if f.Labelled() < 1 {
		return errors.New("classes: no training node has one")
	}
	d := f.Data()
	return d.Validate()
}

// Names are the names of the classes in the order in which a model answers.
func (f *Facts) Names() []string {
	names := slices.Collect(maps.Keys(f.Classes))
	slices.SortFunc(names, table.Order(names))
	return names
}

// Labelled is the number of training nodes that have a class.
func (f *Facts) Labelled() (n int) {
	for _, of := range f.Classes {
		n += of
	}
	return n
}

// Data are the facts as an artifact has them.
func (f *Facts) Data() artifact.Data {
	return artifact.Data{Name: f.Name, Fingerprint: f.Fingerprint, Nodes: f.Nodes, Edges: f.Edges, Features: f.Features,
		Classes: f.Names()}
}
