package pickle

import (
	"errors"
	"fmt"
	"math"
)

// global is this package's name of a class or function, whatever its module in the pickle.
type global string

const (
	ndarray       global = "numpy.ndarray"
	reconstruct   global = "numpy._reconstruct"
	scalar        global = "numpy.scalar"
	dtypeClass    global = "numpy.dtype"
	csrMatrix     global = "scipy.sparse.csr_matrix"
	defaultDict   global = "collections.defaultdict"
	reconstructor global = "copyreg._reconstructor"
	objectClass   global = "object"
	listClass     global = "list"
	intClass      global = "int"
	encode        global = "_codecs.encode"
)

// globals are the names that a pickle may use. Python 2 and 3, and old and new NumPy and SciPy, have them in
// different modules.
var globals = map[string]global{
	"numpy ndarray":                       ndarray,
	"numpy dtype":                         dtypeClass,
	"numpy.core.multiarray _reconstruct":  reconstruct,
	"numpy._core.multiarray _reconstruct": reconstruct,
	"numpy.core.multiarray scalar":        scalar,
	"numpy._core.multiarray scalar":       scalar,
	"scipy.sparse.csr csr_matrix":         csrMatrix,
	"scipy.sparse._csr csr_matrix":        csrMatrix,
	"collections defaultdict":             defaultDict,
	"copy_reg _reconstructor":             reconstructor,
	"copyreg _reconstructor":              reconstructor,
	"__builtin__ object":                  objectClass,
	"builtins object":                     objectClass,
	"__builtin__ list":                    listClass,
	"builtins list":                       listClass,
	"__builtin__ int":                     intClass,
	"builtins int":                        intClass,
	"_codecs encode":                      encode,
}

// reduce returns the value that REDUCE and NEWOBJ make of a callable and its arguments.
func (m *machine) reduce(callable any, args Tuple) (any, error) {
	name, ok := callable.(global)
	if !ok {
		return nil, fmt.Errorf("%T cannot be called", callable)
	}
	switch name {
	case reconstruct: // (ndarray, (0,), 'b'); its state comes by BUILD
		if len(args) == 3 && args[0] == any(ndarray) {
			return &Array{}, nil
		}
	case dtypeClass: // ('f4', 0, 1); its byte order comes by BUILD
		if name, ok := at[string](args, 0); ok {
			return parseType(name)
		}
	case scalar: // (dtype, its bytes)
		return reduceScalar(args)
	case csrMatrix:
		return &Object{Class: string(csrMatrix)}, nil
	case reconstructor: // (class, object, None)
		if len(args) == 3 && args[0] == any(csrMatrix) && args[1] == any(objectClass) {
			return &Object{Class: string(csrMatrix)}, nil
		}
	case defaultDict: // () or (list,); a pickle does not use the default of missing keys
		if len(args) == 0 || len(args) == 1 && (args[0] == any(listClass) || args[0] == any(intClass)) {
			return &Dict{}, nil
		}
	case encode: // (text, 'latin1'): how Python 3 writes bytes for Python 2
		return m.reduceEncode(args)
	}
	return nil, fmt.Errorf("%s with %d arguments is not supported", name, len(args))
}

// maxDimensions bounds the work of one array: the same long shape could be used again and again.
const maxDimensions = 32

// at returns the i-th item of a tuple if it is a T.
func at[T any](t Tuple, i int) (v T, ok bool) {
	if i < len(t) {
		v, ok = t[i].(T)
	}
	return v, ok
}

func reduceScalar(args Tuple) (any, error) {
	t, isType := at[*dtype](args, 0)
	raw, isText := at[string](args, 1)
	if !isType || !isText || len(raw) != t.size {
		return nil, errors.New("numpy.scalar wants a dtype and an item of this type")
	}
	v, ok := t.integer(raw)
	if !ok {
		return nil, fmt.Errorf("numpy.scalar of %v, want an integer of 64 bits", t)
	}
	return v, nil
}

// reduceEncode keeps count of the bytes it makes. Each text of the pickle is normally encoded once, so that all of
// them are no more than the pickle; the same text encoded from the memo again and again could fill any memory.
func (m *machine) reduceEncode(args Tuple) (any, error) {
	text, isText := at[string](args, 0)
	codec, _ := at[string](args, 1)
	if !isText || (codec != "latin1" && codec != "latin-1") {
		return nil, errors.New("_codecs.encode is supported only with text and latin1")
	}
	if m.encoded += len(text); m.encoded > len(m.in) {
		return nil, errors.New("_codecs.encode makes more bytes than the pickle has")
	}
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > math.MaxUint8 {
			return nil, fmt.Errorf("_codecs.encode: latin1 has no %q", r)
		}
		out = append(out, byte(r))
	}
	return string(out), nil
}

// build executes BUILD: it gives a value its state.
func build(value, state any) error {
	switch v := value.(type) {
	case *Array:
		return v.build(state)
	case *dtype:
		return v.build(state)
	case *Object:
		attributes, ok := state.(*Dict)
		if !ok {
			return fmt.Errorf("%s: state is %T, want a dict", v.Class, state)
		}
		v.State = attributes
		return nil
	}
	return fmt.Errorf("%T takes no state", value)
}

// build takes (version, shape, dtype, is Fortran, bytes).
func (a *Array) build(state any) error {
	s, _ := state.(Tuple)
	shape, okShape := at[Tuple](s, 1)
	t, okType := at[*dtype](s, 2)
	data, okData := at[string](s, 4)
	if len(s) != 5 || !okShape || !okType || !okData {
		return errors.New("numpy.ndarray: state is not (version, shape, dtype, order, bytes)")
	}
	switch order := s[3].(type) {
	case bool:
		a.Fortran = order
	case int64:
		a.Fortran = order != 0
	default:
		return fmt.Errorf("numpy.ndarray: order is %T, want a bool", order)
	}
	if len(shape) > maxDimensions {
		return fmt.Errorf("numpy.ndarray: %d dimensions, more than %d", len(shape), maxDimensions)
	}
	a.Shape = nil
	for _, item := range shape {
		n, ok := item.(int64)
		if !ok || n < 0 {
			return fmt.Errorf("numpy.ndarray: shape %v, want integers ≥ 0", shape)
		}
		a.Shape = append(a.Shape, int(n))
	}
	a.Type, a.Data = t.String(), data
	return nil
}

// build takes (version, byte order, subtype, names, fields, …): the last three are None in a type without fields.
func (t *dtype) build(state any) error {
	s, _ := state.(Tuple)
	order, ok := at[string](s, 1)
	if !ok || len(s) < 5 || s[2] != nil || s[3] != nil || s[4] != nil {
		return errors.New("numpy.dtype: types with fields are not supported")
	}
	switch order {
	case "<", "|", "=":
		t.big = false
	case ">":
		t.big = true
	default:
		return fmt.Errorf("numpy.dtype: byte order is %.10q", order)
	}
	return nil
}
