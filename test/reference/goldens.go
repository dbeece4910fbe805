package reference

import (
	"fmt"
	"slices"
	"strings"

	"codeberg.org/sbinet/npyio/npz"
)

// Goldens are the arrays of an npz file of known answers, by name: "A", "sgc.tables.T.u0".
type Goldens struct {
	arrays map[string]Matrix // a vector is one row
	used   map[string]bool
}

// ReadGoldens reads every array of the file; integers become floats.
func ReadGoldens(path string) (*Goldens, error) {
	f, err := npz.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening known answers: %w", err)
	}
	defer f.Close()
	g := &Goldens{arrays: map[string]Matrix{}, used: map[string]bool{}}
	for _, key := range f.Keys() {
		m, err := readArray(f, key)
		if err != nil {
			return nil, fmt.Errorf("reading known answer %s: %w", key, err)
		}
		g.arrays[strings.TrimSuffix(key, ".npy")] = m
	}
	return g, nil
}

func readArray(f *npz.Reader, key string) (Matrix, error) {
	header := f.Header(key).Descr
	var flat []float64
	if strings.Trim(header.Type, "'") == "<i8" { // the library keeps the quotes of the file's header
		var ints []int64
		if err := f.Read(key, &ints); err != nil {
			return nil, err
		}
		for _, v := range ints {
			flat = append(flat, float64(v))
		}
	} else if err := f.Read(key, &flat); err != nil {
		return nil, err
	}
	shape := header.Shape
	if len(shape) == 1 {
		shape = []int{1, shape[0]}
	}
	if len(shape) != 2 || len(flat) != shape[0]*shape[1] {
		return nil, fmt.Errorf("%d values of shape %v, want a vector or a matrix", len(flat), header.Shape)
	}
	return At(shape[0], shape[1], func(i, j int) float64 {
		if header.Fortran {
			return flat[j*shape[0]+i]
		}
		return flat[i*shape[1]+j]
	}), nil
}

// Matrix returns an array and remembers that it was asked for. It panics if there is none of that name.
func (g *Goldens) Matrix(name string) Matrix {
	m, ok := g.arrays[name]
	if !ok {
		panic(fmt.Sprintf("reference: no known answer %q", name))
	}
	g.used[name] = true
	return m
}

// Vector returns a one-dimensional array.
func (g *Goldens) Vector(name string) []float64 { return g.Matrix(name)[0] }

// Ints returns a one-dimensional array of integers.
func (g *Goldens) Ints(name string) []int {
	out := []int{}
	for _, v := range g.Vector(name) {
		out = append(out, int(v))
	}
	return out
}

// Unused lists the arrays whose names begin with a prefix and that nobody asked for, so that a test can show that
// it covers all of them.
func (g *Goldens) Unused(prefix string) []string {
	var names []string
	for name := range g.arrays {
		if strings.HasPrefix(name, prefix) && !g.used[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
