package weights

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"rivulet/artifact/safetensors"
	"rivulet/graph"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
)

// heteroTypes are the blocks of the features of hetero's nodes as the schema of three tables places them: the types
// first, then what users and items have.
func heteroTypes() *NodeTypes {
	return &NodeTypes{Blocks: map[string]Block{"item": {From: 8, To: 11, Bias: 0}, "shop": {Bias: 1},
		"user": {From: 4, To: 8, Bias: 2}}, Task: "user", Edges: []string{"buys", "follows", "sells"}, Directed: true}
}

// heteroData are a state and its answers, with rows of all types' blocks and the relations of a table with directions.
func heteroData(t *testing.T, file string) (state State, x *graph.Dense, relations *graph.CSR, logits *graph.Dense) {
	t.Helper()
	state = State{}
	answers := State{}
	for name, value := range read(t, file) {
		if tail, ok := strings.CutPrefix(name, "answers."); ok {
			answers[tail] = value
		} else {
			state[name] = value
		}
	}
	types, first, n := heteroTypes(), map[string]int{}, 0
	for _, name := range []string{"user", "item", "shop"} {
		first[name] = n
		n += answers["x."+name].Shape[0]
	}
	x = graph.NewDense(n, 11)
	for name, at := range first {
		b, of := types.Blocks[name], matrix(answers["x."+name])
		for i := range of.Rows {
			x.Row(at + i)[b.Bias] = 1
			copy(x.Row(at + i)[b.From:b.To], of.Row(i))
		}
	}
	var by []*graph.CSR
	for _, kind := range []string{"user__buys__item", "user__follows__user", "shop__sells__item"} {
		ends := strings.Split(kind, "__")
		index := answers["edges."+kind]
		edges := index.Shape[1]
		var out []graph.Edge
		for k := range edges {
			out = append(out, graph.Edge{Row: int32(first[ends[0]] + int(index.Values[k])),
				Col: int32(first[ends[2]] + int(index.Values[edges+k])), Val: 1})
		}
		adj := graph.NewCSR(n, n, out)
		by = append(by, adj, adj.Transpose())
	}
	return state, x, graph.NewRelations(by...), matrix(answers["logits"])
}

// to_hetero(SAGEConv) of three types of nodes, and projections by type before RGCNConv on all nodes, answer as in
// PyTorch Geometric for the nodes of the type that has classes.
func TestTypesOfNodesAnswerAsPyTorchGeometric(t *testing.T) {
	for _, file := range []string{"hetero", "heterorgcn"} {
		state, dense, relations, want := heteroData(t, file)
		got, err := state.Model("rgcn", Requirements{Features: dense.Cols, Classes: 3, Types: heteroTypes()})
		expect.OK(t, err)
		x := graph.Features{Dense: dense}
		plain := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
		logits := got.Model.LogitsOf(relations, got.Model.Tables(relations, plain.Raw(x)), x, plain)
		for k, v := range want.Data {
			if math.Abs(float64(v-logits.Data[k])) > 1e-5 {
				t.Fatalf("%s: node %d, class %d: %v, PyTorch Geometric says %v", file, k/3, k%3, logits.Data[k], v)
			}
		}
	}
}

// Weights that do not fit the types of nodes and edges are refused with the tensor.
func TestTypesOfNodesOfWeightsRefused(t *testing.T) {
	for words, change := range map[string]func(s State, types *NodeTypes){
		"buys have weights, and the data have the types follows, sells": func(_ State, types *NodeTypes) {
			types.Edges = types.Edges[1:]
		},
		"want [5 7]: nodes of the type user have 7 features": func(_ State, types *NodeTypes) {
			types.Blocks["user"] = Block{From: 4, To: 11, Bias: 2}
		},
		"conv1.user__buys__item.lin_r.weight is missing": func(s State, _ *NodeTypes) {
			delete(s, "conv1.user__buys__item.lin_r.weight")
		},
		"no place for head.weight": func(s State, _ *NodeTypes) { s["head.weight"] = safetensors.Array{Shape: []int{1}} },
		"no edges lead to the type shops in layer conv2": func(_ State, types *NodeTypes) {
			types.Task = "shops"
			types.Blocks["shops"] = Block{Bias: 3}
		},
		"the data's edges of one type are": func(s State, types *NodeTypes) {
			types.Directed = false // both directions of follows join users
		},
	} {
		state, _, _, _ := heteroData(t, "hetero")
		state, types := maps.Clone(state), heteroTypes()
		types.Edges = slices.Clone(types.Edges)
		change(state, types)
		expect.Error(t, expect.ErrorOf(state.Model("rgcn", Requirements{Features: 11, Classes: 3, Types: types})), words)
	}
}
