package artifact

import (
	"fmt"
	"slices"
	"strings"

	"rivulet/artifact/safetensors"
	"rivulet/graph"
)

// anyLength stands for a length that is not checked.
const anyLength = safetensors.AnyLength

// fields visits the tensors of a file one after another, so that each file is described once: the same visit writes
// the tensors, reads them, or checks the values. After an error the rest of a visit does nothing.
type fields struct {
	set     safetensors.Set      // read from; nil: not reading
	tensors []safetensors.Tensor // written
	checks  bool                 // values are checked, and nothing is written
	err     error
}

// encodeFields returns the file of a visit.
func encodeFields(visit func(*fields)) ([]byte, error) {
	var f fields
	visit(&f)
	return safetensors.Encode(f.tensors)
}

// decodeFields has a visit read a file.
func decodeFields(file []byte, visit func(*fields)) error {
	set, err := safetensors.Decode(file)
	if err != nil {
		return err
	}
	f := fields{set: set}
	visit(&f)
	return f.err
}

// checkValues has a visit check values. An error begins with the tensor's name.
func checkValues(visit func(*fields)) error {
	f := fields{checks: true}
	visit(&f)
	return f.err
}

func (f *fields) reading() bool { return f.set != nil && f.err == nil }

// has reports whether an optional tensor is part of the visit: whether the file that is read has it, else there.
func (f *fields) has(name string, there bool) bool {
	if f.set != nil {
		_, there = f.set[name]
	}
	return there && f.err == nil
}

// hasGroup is [fields.has] for tensors whose names begin with a prefix.
func (f *fields) hasGroup(prefix string, there bool) bool {
	if f.set != nil {
		there = len(f.names(prefix)) > 0
	}
	return there && f.err == nil
}

// names returns the sorted names of the tensors that are read and begin with a prefix.
func (f *fields) names(prefix string) (names []string) {
	for name := range f.set {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// visit takes the next tensors in one of the three ways.
func (f *fields) visit(name string, write func() []safetensors.Tensor, read, check func() error) {
	switch {
	case f.err != nil:
	case f.set != nil:
		f.err = read()
	case !f.checks:
		f.tensors = append(f.tensors, write()...)
	case check != nil:
		if err := check(); err != nil {
			f.fail("%s: %w", name, err)
		}
	}
}

func (f *fields) dense(name, about string, m **graph.Dense, rows, cols int) {
	f.visit(name, func() []safetensors.Tensor { return []safetensors.Tensor{safetensors.Dense(name, about, *m)} },
		func() (err error) { *m, err = f.set.Dense(name, rows, cols); return err },
		func() error {
			if rows == anyLength && *m != nil {
				return validateDense(*m, (*m).Rows, cols)
			}
			return validateDense(*m, rows, cols)
		})
}

func (f *fields) csr(prefix, what string, m **graph.CSR, rows, cols int) {
	f.visit(prefix, func() []safetensors.Tensor { return safetensors.CSR(prefix, what, *m) },
		func() (err error) { *m, err = f.set.CSR(prefix, rows, cols); return err }, nil)
}

func (f *fields) floats(name, about string, values *[]float32, n int) {
	f.visit(name, func() []safetensors.Tensor {
		return []safetensors.Tensor{safetensors.Float32s(name, about, *values, len(*values))}
	}, func() (err error) { *values, err = f.set.Float32s(name, n); return err }, nil)
}

// scales are finite numbers of 0 or more.
func (f *fields) scales(name, about string, values *[]float32, n int) {
	if f.checks {
		f.visit(name, nil, nil, func() error { return validateScales(*values, n) })
		return
	}
	f.floats(name, about, values, n)
}

func (f *fields) float(name, about string, value *float32) {
	values := []float32{*value}
	if f.floats(name, about, &values, 1); f.reading() {
		*value = values[0]
	}
}

func (f *fields) ints(name, about string, values *[]int, n int) {
	f.visit(name, func() []safetensors.Tensor { return []safetensors.Tensor{safetensors.Int64s(name, about, *values)} },
		func() (err error) { *values, err = f.set.Ints(name, n); return err }, nil)
}

func (f *fields) int(name, about string, value *int) {
	values := []int{*value}
	if f.ints(name, about, &values, 1); f.reading() {
		*value = values[0]
	}
}

func (f *fields) int32s(name, about string, values *[]int32, n int) {
	f.visit(name, func() []safetensors.Tensor { return []safetensors.Tensor{safetensors.Int32s(name, about, *values)} },
		func() (err error) { *values, err = f.set.Int32s(name, n); return err }, nil)
}

// ids are texts that stand one after another in one tensor; another one has their ends.
func (f *fields) ids(offsetsAbout, about string, ids *[]string, n int) {
	f.visit("ids", func() []safetensors.Tensor {
		ends, text := make([]int, 1, len(*ids)+1), []byte(nil)
		for _, id := range *ids {
			text = append(text, id...)
			ends = append(ends, len(text))
		}
		return []safetensors.Tensor{safetensors.Int64s("ids.offsets", offsetsAbout, ends),
			{Name: "ids.bytes", DType: safetensors.U8, Shape: []int{len(text)}, About: about, Data: text}}
	}, func() (err error) { *ids, err = decodeIDs(f.set, n); return err }, nil)
}

// lists visits n lists, which stand one after another in the tensors that items visits. The tensor name has n+1 places:
// list i is from place i to place i+1.
func lists[T any](f *fields, name, about string, of *[][]T, n int, items func(all *[]T)) {
	all := slices.Concat(*of...)
	items(&all)
	f.visit(name, func() []safetensors.Tensor {
		at := []int{0}
		for _, list := range *of {
			at = append(at, at[len(at)-1]+len(list))
		}
		return []safetensors.Tensor{safetensors.Int64s(name, about, at)}
	}, func() error {
		at, err := f.set.Lists(name, n, len(all))
		if err != nil {
			return err
		}
		*of = make([][]T, n)
		for i := range n {
			if at[i] < at[i+1] {
				(*of)[i] = all[at[i]:at[i+1]:at[i+1]]
			}
		}
		return nil
	}, nil)
}
