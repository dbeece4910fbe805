package weights

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"rivulet/artifact/safetensors"
	"rivulet/graph"
	"rivulet/schema"
)

// NodeTypes say where a row of features of several types of nodes has what. A model of several types becomes one rgcn
// of such rows: features, and then the states of each hidden layer, are blocks side by side, one for each type, and a
// weight from one type to another fills the rows and columns of the two blocks. A position that is 1 on a type's nodes
// carries the type's biases from layer to layer.
type NodeTypes struct {
	Blocks map[string]Block // by type, as to_hetero writes its name
	Task   string           // the type that has classes
	// Edges are the types of edges in the order of their relations. Directed says that each is two, out and in.
	Edges    []string
	Directed bool
}

// Block are the positions of a type: From to To of its features, and Bias, which is 1 on its nodes. Without features
// the latter is its one feature.
type Block struct{ From, To, Bias int }

func (b Block) width() int { return b.To - b.From }

// NodeTypesOf returns the blocks of a schema and the relations of the data; nil: nodes are of one type.
func NodeTypesOf(s *schema.Schema, by *graph.Bins) *NodeTypes {
	if s == nil {
		return nil
	}
	var out *NodeTypes
	for k := range s.Features() {
		f := &s.Features()[k]
		if f.Arriving != nil {
			out = &NodeTypes{Blocks: map[string]Block{}, Task: heteroNames.Replace(strings.Join(f.Arriving, " and "))}
			for p, name := range f.Categories {
				out.Blocks[heteroNames.Replace(name)] = Block{Bias: f.Start() + p}
			}
		}
	}
	if out == nil {
		return nil
	}
	for k := range s.Features() {
		f := &s.Features()[k]
		if b := out.Blocks[heteroNames.Replace(f.Of)]; f.Of != "" {
			if b.width() == 0 {
				b.From = f.Start()
			}
			b.To = f.Start() + f.Width()
			out.Blocks[heteroNames.Replace(f.Of)] = b
		}
	}
	if by != nil {
		out.Edges, out.Directed = by.Types, by.Directed
	}
	return out
}

// names are the types in their order.
func (t *NodeTypes) names() []string { return slices.Sorted(maps.Keys(t.Blocks)) }

// relations is the number of relations.
func (t *NodeTypes) relations() int {
	if t.Directed {
		return 2 * len(t.Edges)
	}
	return len(t.Edges)
}

// heteroNames replaces the characters that to_hetero replaces in the names of types.
var heteroNames = strings.NewReplacer(" ", "_", "-", "_", ":", "_", ".", "_")

// heteroConv finds a layer of to_hetero, by a type of edges: conv1.user__buys__item.lin_l.weight.
var heteroConv = regexp.MustCompile(`^(.*?)\.?([^.]+)__([^.]+)__([^.]+)\.(lin_l\.weight|lin_l\.bias|lin_r\.weight)$`)

// edge is a type of edges of to_hetero: messages go from the source to the target.
type edge struct{ source, kind, target string }

func (e edge) String() string { return e.source + "__" + e.kind + "__" + e.target }

// relation returns the relation of edges that bring messages from e.source to e.target. PyTorch Geometric's rev_buys
// are the edges of buys the other way.
func (t *NodeTypes) relation(e edge) (int, error) {
	for k, name := range t.Edges {
		name = heteroNames.Replace(name)
		back := e.kind == "rev_"+name
		switch {
		case e.kind != name && !back:
		case !t.Directed:
			return k, nil
		case back:
			return 2 * k, nil // the nodes that the target's edges lead to
		default:
			return 2*k + 1, nil
		}
	}
	return 0, fmt.Errorf("edges of the type %s have weights, and the data have the types %s", e.kind,
		strings.Join(t.Edges, ", "))
}

// joinTypes makes the weights of to_hetero(SAGEConv) those of one rgcn.
func (s State) joinTypes(t *NodeTypes) (State, error) {
	layers, tensors := map[string][]edge{}, map[string]bool{}
	for _, name := range s.names() {
		of := heteroConv.FindStringSubmatch(name)
		if of == nil {
			return nil, fmt.Errorf("no place for %s beside layers by types of edges, such as conv1.user__buys__item", name)
		}
		e := edge{of[2], of[3], of[4]}
		if tensors[name] = true; of[5] == "lin_l.weight" {
			layers[of[1]] = append(layers[of[1]], e)
		}
	}
	order, ok := byNumber(slices.Sorted(maps.Keys(layers)))
	if !ok {
		return nil, fmt.Errorf("which of the layers %s is the first: number their names",
			s.list(slices.Sorted(maps.Keys(layers))))
	}
	in, width, out := t.Blocks, 0, State{}
	for _, b := range in {
		width = max(width, b.To, b.Bias+1)
	}
	for k, layer := range order {
		next, columns, err := s.layout(layer, layers[layer], t, k == len(order)-1)
		if err != nil {
			return nil, err
		}
		root, by := graph.NewDense(width, columns), make([]*graph.Dense, t.relations())
		for r := range by {
			by[r] = graph.NewDense(width, columns)
		}
		if k < len(order)-1 {
			for _, name := range t.names() {
				root.Row(in[name].Bias)[next[name].Bias] = 1
			}
		}
		met := map[[2]any]edge{}
		for _, e := range layers[layer] {
			to, reads := next[e.target]
			if !reads || to.width() == 0 {
				continue
			}
			r, err := t.relation(e)
			if err != nil {
				return nil, err
			}
			if other, twice := met[[2]any{r, e.source}]; twice {
				return nil, fmt.Errorf("the data's edges of one type are %s and %s in the file: give them a type each, or "+
					"keep their directions (--directed)", other, e)
			}
			met[[2]any{r, e.source}] = e
			prefix := tensor(layer, e.String())
			if err := s.fill(by[r], prefix+".lin_l.weight", in[e.source], to, e.source); err != nil {
				return nil, err
			}
			if err := s.fill(root, prefix+".lin_r.weight", in[e.target], to, e.target); err != nil {
				return nil, err
			}
			if bias := s[prefix+".lin_l.bias"]; bias.Shape != nil {
				if len(bias.Values) != to.width() {
					return nil, fmt.Errorf("tensor %s.lin_l.bias is %v, want [%d]", prefix, bias.Shape, to.width())
				}
				graph.Axpy(root.Row(in[e.target].Bias)[to.From:to.To], 1, bias.Values)
			}
		}
		name := fmt.Sprintf("convs.%d", k)
		out[name+".root"] = pytorch(root)
		for r := range by {
			out[fmt.Sprintf("%s.weight.%d", name, r)] = pytorch(by[r])
		}
		in, width = next, columns
	}
	return out, nil
}

// layout places the outputs of a layer: a block for each type that edges lead to, and a position for each type's bias;
// behind the last layer there are the classes of the type that has some.
func (s State) layout(layer string, edges []edge, t *NodeTypes, last bool) (map[string]Block, int, error) {
	out, at := map[string]Block{}, 0
	for _, name := range t.names() {
		if last && name != t.Task {
			continue
		}
		width := 0
		for _, e := range edges {
			if e.target == name {
				width = s[tensor(layer, e.String())+".lin_l.weight"].Shape[0]
			}
		}
		out[name] = Block{From: at, To: at + width}
		at += width
	}
	if last && at == 0 {
		return nil, 0, fmt.Errorf("no edges lead to the type %s in layer %s, which has the classes", t.Task, layer)
	}
	for _, name := range t.names() {
		if b, ok := out[name]; ok && !last {
			b.Bias = at
			out[name], at = b, at+1
		}
	}
	return out, at, nil
}

// fill puts a matrix of out×in into the rows of a type's block and the columns of another's.
func (s State) fill(m *graph.Dense, name string, from, to Block, kind string) error {
	a, ok := s[name]
	if from.width() == 0 && ok && len(a.Shape) == 2 && a.Shape[1] == 1 {
		from.From, from.To = from.Bias, from.Bias+1 // a type without features has a column of ones
	}
	switch {
	case !ok:
		return fmt.Errorf("tensor %s is missing (root_weight=False is not served)", name)
	case !slices.Equal(a.Shape, []int{to.width(), from.width()}) || a.Values == nil:
		return fmt.Errorf("tensor %s is %v, want %v: nodes of the type %s have %d features", name, a.Shape,
			[]int{to.width(), from.width()}, kind, from.width())
	}
	for i := range from.width() {
		row := m.Row(from.From + i)
		for k := range to.width() {
			row[to.From+k] += a.Values[k*from.width()+i]
		}
	}
	return nil
}

// pytorch is a matrix of in×out in PyTorch's order.
func pytorch(m *graph.Dense) safetensors.Array {
	return turned(safetensors.Array{Type: "F32", Shape: []int{m.Rows, m.Cols}}, m.Data)
}

// project multiplies the projections of features, one Linear a type, into the first layer, which reads what they give:
// lins.user.weight of HeteroDictLinear. The state is one of matrices by relation.
func (s State) project(t *NodeTypes, first string) (State, error) {
	var p *graph.Dense
	out, d := maps.Clone(s), 0
	for _, b := range t.Blocks {
		d = max(d, b.To, b.Bias+1)
	}
	for _, name := range t.names() {
		b := t.Blocks[name]
		for _, file := range s.names() {
			if file != name+".weight" && !strings.HasSuffix(file, "."+name+".weight") {
				continue
			}
			w := s[file]
			if len(w.Shape) != 2 || w.Values == nil || p != nil && w.Shape[0] != p.Cols {
				return nil, fmt.Errorf("tensor %s is %v, want a projection of the features of %s as of other types", file, w.Shape,
					name)
			}
			if p == nil {
				p = graph.NewDense(d, w.Shape[0])
			}
			if err := s.fill(p, file, b, Block{To: p.Cols}, name); err != nil {
				return nil, err
			}
			bias := strings.TrimSuffix(file, "weight") + "bias"
			if of := s[bias]; len(of.Values) == p.Cols {
				graph.Axpy(p.Row(b.Bias), 1, of.Values)
				delete(out, bias)
			}
			delete(out, file)
		}
	}
	if p == nil {
		return s, nil
	}
	for name, w := range s {
		if tail, ok := strings.CutPrefix(name, first+"."); ok && (tail == "root" || strings.HasPrefix(tail, "weight.")) {
			if len(w.Shape) != 2 || w.Shape[1] != p.Cols {
				return nil, fmt.Errorf("tensor %s is %v, and the types of nodes are projected to %d columns", name, w.Shape,
					p.Cols)
			}
			out[name] = pytorch(graph.MulDense(p, transposed(w.Values, w.Shape[0], w.Shape[1])))
		}
	}
	return out, nil
}
