package fields

import (
	"math"
	"slices"

	"rivulet/event"
)

// MaxIndex is above every index: they are int32.
const MaxIndex = math.MaxInt32 + 1

// SetOnes sets the values of a sparse row that came without any.
func SetOnes(f *event.Features) {
	f.Values = slices.Grow(f.Values[:0], len(f.Indices))[:len(f.Indices)]
	for k := range f.Values {
		f.Values[k] = 1
	}
}

// AllOnes reports whether the values of a sparse row need not be written.
func AllOnes(f *event.Features) bool {
	return !slices.ContainsFunc(f.Values, func(v float32) bool { return v != 1 })
}

// Order sorts a sparse row by index. It refuses a row of more or fewer values than indices, and an index that is given
// twice.
func Order(f *event.Features) error {
	if err := f.CheckPairs(); err != nil {
		return err
	}
	if ascend(f.Indices) {
		return nil
	}
	sortPairs(f.Indices, f.Values)
	for k := 1; k < len(f.Indices); k++ {
		if f.Indices[k] == f.Indices[k-1] {
			return event.Errorf(event.ReasonUnparsable, "features.indices", "%d is given twice", f.Indices[k])
		}
	}
	return nil
}

// ascend reports whether each index is above the one before.
func ascend(indices []int32) bool {
	for k := 1; k < len(indices); k++ {
		if indices[k] <= indices[k-1] {
			return false
		}
	}
	return true
}

// sortPairs sorts indices and carries values along. Each pair is packed into one integer, so that the standard sort
// does the work on a plain slice; indices are not negative.
func sortPairs(indices []int32, values []float32) {
	packed := make([]uint64, len(indices))
	for k, i := range indices {
		packed[k] = uint64(i)<<32 | uint64(math.Float32bits(values[k]))
	}
	slices.Sort(packed)
	for k, p := range packed {
		indices[k], values[k] = int32(p>>32), math.Float32frombits(uint32(p))
	}
}
