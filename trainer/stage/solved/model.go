package solved

import (
	"fmt"

	"rivulet/graph"
	"rivulet/infer"
)

// SideModel is the side with a model's name and weights.
const SideModel = "model"

// AppendModel is the form of a model as a side.
func AppendModel(m infer.Model) []byte {
	params := m.Params()
	dst := appendNumber(appendText(nil, m.Name()), len(params))
	for _, p := range params {
		dst = appendNumber(appendNumber(appendText(dst, p.Name), p.Value.Rows), p.Value.Cols)
		dst = appendFloats(dst, p.Value.Data)
	}
	return dst
}

func readModel(b []byte) (infer.Model, error) {
	w := &wire{b: b}
	name := w.text()
	params := make([]infer.Param, w.count(3))
	for k := range params {
		p := infer.Param{Name: w.text()}
		rows, cols := w.number(), w.number()
		if rows > 0 && cols > len(w.b)/4/rows {
			return nil, fmt.Errorf("side %s: %w", SideModel, errPayload)
		}
		p.Value = &graph.Dense{Rows: rows, Cols: cols, Data: w.floats(rows * cols)}
		params[k] = p
	}
	if err := w.end(); err != nil {
		return nil, fmt.Errorf("side %s: %w", SideModel, err)
	}
	m, err := infer.Build(name, params)
	if err != nil {
		return nil, fmt.Errorf("side %s: %w", SideModel, err)
	}
	return m, infer.Freezable(m)
}
