package links

import (
	"math"

	"rivulet/graph"
	"rivulet/infer"
)

// A model of features does not tell two candidates apart that have the same features. Their vectors do: the tables of T
// have, beside what a model says of a node, the same hops of the vectors of the candidates, times a share. An arrival
// reads them of its neighbours, and has none itself, so that its own part is the model's alone.

// shares are the candidates for the share, in units in which both parts are equally long.
var shares = []float32{0, 0.25, 0.5, 1, 2, 4}

// structure is the share of a model, with the tables of the vectors.
type structure struct {
	tables *infer.Tables
	share  float32
}

// Beside returns the tables of T of a model with the hops of the vectors. Without links it returns them as they are.
func (p *Problem) Beside(t *infer.Tables, m infer.Model) *infer.Tables {
	if p == nil || p.structures[m.Name()] == nil {
		return t
	}
	s := p.structures[m.Name()]
	for k, u := range t.U {
		graph.Axpy(u.Data, s.share, s.tables.U[k].Data)
	}
	return t
}

// ChooseShare keeps the share of the highest score, the smallest among equals, for a model, and returns the score.
// plain are the model's tables, for edges of these weights.
func (p *Problem) ChooseShare(m infer.Model, plain *infer.Tables, edges []float32, score func() (float64, error)) (
	best float64, err error) {
	vectors := graph.NewDense(p.adj.Rows, p.Vectors.Cols)
	for c, i := range p.Candidates {
		copy(vectors.Row(int(i)), p.Vectors.Row(c))
	}
	s := &structure{tables: infer.HopTables(p.adj, vectors, m.Hops, edges...)}
	if p.structures == nil {
		p.structures = map[string]*structure{}
	}
	p.structures[m.Name()] = s
	unit, chosen := length(plain)/length(s.tables), float32(0)
	for k, share := range shares {
		s.share = share * unit
		is, err := score()
		if err != nil {
			return 0, err
		}
		if k == 0 || is > best {
			best, chosen = is, s.share
		}
	}
	s.share = chosen
	return best, nil
}

// length is the root mean square of the last table, by which the hops of an arrival end.
func length(t *infer.Tables) float32 {
	sum := 0.0
	last := t.U[len(t.U)-1].Data
	for _, v := range last {
		sum += float64(v) * float64(v)
	}
	return float32(math.Sqrt(sum / float64(len(last))))
}
