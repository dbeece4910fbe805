package solved

import (
	"fmt"

	"rivulet/infer"
	"rivulet/trainer/stage/wire"
)

// SideModel is the side with a model's name and weights.
const SideModel = "model"

// AppendModel is the form of a model as a side.
func AppendModel(m infer.Model) []byte {
	params := m.Params()
	dst := wire.AppendNumber(wire.AppendText(nil, m.Name()), len(params))
	for _, p := range params {
		dst = wire.AppendDense(wire.AppendText(dst, p.Name), p.Value)
	}
	return dst
}

func readModel(b []byte) (infer.Model, error) {
	w := wire.NewReader(b)
	name := w.Text()
	params := make([]infer.Param, w.Count(3))
	for k := range params {
		params[k] = infer.Param{Name: w.Text(), Value: w.Dense()}
	}
	err := w.End()
	var m infer.Model
	if err == nil {
		m, err = infer.Build(name, params)
	}
	if err != nil {
		return nil, fmt.Errorf("side %s: %w", SideModel, err)
	}
	return m, infer.Freezable(m)
}
