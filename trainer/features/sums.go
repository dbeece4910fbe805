package features

import "fmt"

// AddSums adds Σ_j sums_j·pre(x_j) to dst (d), in float64; nodes with sum 0 cost nothing. It is a row of
// [FactoredFeatures.Combine] for weights that many nodes have, or that must not be rounded.
func (f *FactoredFeatures) AddSums(dst, sums []float64) {
	if len(dst) != len(f.Factor) || len(sums) != f.Raw.Rows() {
		panic(fmt.Sprintf("features: sums of %d nodes in %d columns, of features %d×%d", len(sums), len(dst),
			f.Raw.Rows(), len(f.Factor)))
	}
	total, raw := 0.0, make([]float64, len(dst))
	for j, w := range sums {
		if w == 0 {
			continue
		}
		total += w
		if f.Raw.Sparse == nil {
			for k, v := range f.Raw.Dense.Row(j) {
				raw[k] += w * float64(v)
			}
			continue
		}
		cols, vals := f.Raw.Sparse.Row(j)
		for p, k := range cols {
			raw[k] += w * float64(value(vals, p))
		}
	}
	for k, v := range raw {
		dst[k] += v*float64(f.Factor[k]) - total*float64(f.Offset[k])
	}
}
