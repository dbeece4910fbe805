package schema

import "fmt"

// Rows are the rows of all nodes of a table, dense or in compressed sparse row form (CSR).
type Rows struct {
	N, Width int
	Dense    []float32 // N×Width, row by row; nil if the rows are sparse

	RowPtr []int     // N+1; row i is entries RowPtr[i] to RowPtr[i+1]
	ColIdx []int32   // ascending within a row
	Val    []float32 // the numbers
}

// EncodeColumns returns the rows of all nodes of a table, each with the numbers of [Schema.Encode]. Columns that the
// schema does not have are passed over. An error names the column that is missing, or the feature, value and node.
func (s *Schema) EncodeColumns(columns []Column) (*Rows, error) {
	if s.typed >= 0 { // a table has nodes of all types
		whole := *s
		whole.table = true
		s = &whole
	}
	used, n, err := s.pick(columns)
	if err != nil {
		return nil, err
	}
	out := &Rows{N: n, Width: s.width}
	if s.sparse {
		out.RowPtr = make([]int, 1, n+1)
	} else {
		out.Dense = make([]float32, n*s.width)
	}
	fields := make([]Field, len(used))
	for k, c := range used {
		fields[k].Name = c.Name
	}
	for i := range n {
		for k, c := range used {
			fields[k].Value = c.At(i)
		}
		if s.sparse {
			out.ColIdx, out.Val, err = s.AppendSparse(out.ColIdx, out.Val, fields)
			out.RowPtr = append(out.RowPtr, len(out.ColIdx))
		} else {
			err = s.Encode(out.Dense[i*s.width:(i+1)*s.width], fields)
		}
		if err != nil {
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
	}
	return out, nil
}

// pick returns the columns that the schema reads, in the order of its features, and the number of nodes.
func (s *Schema) pick(columns []Column) (used []*Column, n int, err error) {
	byName := make(map[string]*Column, len(columns))
	for k := range columns {
		byName[columns[k].Name] = &columns[k]
	}
	want := make([]string, 0, len(s.features))
	for k := range s.features {
		want = append(want, s.features[k].Name)
	}
	for k := range s.features { // unused columns that ages count up to
		if f := &s.features[k]; f.until >= len(s.features) {
			want = append(want, f.UntilFeature)
		}
	}
	seen := map[string]bool{}
	for _, name := range want {
		c, ok := byName[name]
		if !ok {
			return nil, 0, fmt.Errorf("column %q is missing, which the schema has", name)
		}
		if !seen[name] {
			used, seen[name] = append(used, c), true
		}
		if c.Len() != used[0].Len() {
			return nil, 0, fmt.Errorf("column %q has %d values, column %q has %d", name, c.Len(), used[0].Name, used[0].Len())
		}
	}
	return used, used[0].Len(), nil
}
