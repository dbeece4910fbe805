package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/dataset"
	"rivulet/internal/cli"
	"rivulet/internal/demo"
	"rivulet/test/expect"
	"rivulet/trainer"
)

// buyersAndViewers writes two tables of nodes: users, who have no features and buy (class a) or view (class b) three
// items each, and items with a price.
func buyersAndViewers(t *testing.T) string {
	t.Helper()
	users, items, edges := &strings.Builder{}, &strings.Builder{}, &strings.Builder{}
	fmt.Fprintln(users, "id,label,split")
	fmt.Fprintln(items, "id,price")
	fmt.Fprintln(edges, "source,target,kind")
	for i := range 120 {
		fmt.Fprintf(users, "u%d,%c,%s\n", i, 'a'+i%2, []string{"train", "val", "test"}[i/2%3])
		for k := range 3 {
			fmt.Fprintf(edges, "u%d,i%d,%s\n", i, (i/2+7*k)%30, []string{"buys", "views"}[i%2])
		}
	}
	for i := range 30 {
		fmt.Fprintf(items, "i%d,%d\n", i, 5+i%3)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"users.csv": users.String(), "items.csv": items.String(),
		"edges.csv": edges.String(),
		"data.yaml": "nodes: {user: users.csv, item: items.csv}\nedges: edges.csv\nedge_type: kind\n"} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// Weights for several types of nodes and edges, under the names that PyTorch Geometric gives them, are imported onto
// tables of these types, published, and answer the stream. The weights compare the mean price of the items that a user
// buys with that of those viewed, so that every user's class is known.
func TestImportOnTypesOfNodes(t *testing.T) {
	dir := buyersAndViewers(t)
	d, err := dataset.Open(dir, dataset.OpenOptions{})
	expect.OK(t, err)
	zeros := func(n int) []float32 { return make([]float32, n) }
	// The hidden state of a user: the mean price of the items by type of edge.
	price := map[string][]float32{"buys": {1, 0}, "views": {0, 1}}
	var hetero []tensor
	for layer, in := range map[string]map[string]int{"conv1": {"user": 1, "item": 1}, "conv2": {"user": 2, "item": 2}} {
		for _, kind := range []string{"buys", "views"} {
			for name, ends := range map[string][2]string{layer + ".user__" + kind + "__item": {"user", "item"},
				layer + ".item__rev_" + kind + "__user": {"item", "user"}} {
				source, target := in[ends[0]], in[ends[1]]
				left, right := zeros(2*source), zeros(2*target)
				switch {
				case ends[1] == "user" && layer == "conv1":
					left = price[kind]
				case ends[1] == "user" && kind == "buys": // the second layer hands the user's own state on
					right = []float32{1, 0, 0, 1}
				}
				hetero = append(hetero, tensor{name + ".lin_l.weight", []int{2, source}, left},
					tensor{name + ".lin_l.bias", []int{2}, zeros(2)}, tensor{name + ".lin_r.weight", []int{2, target}, right})
			}
		}
	}
	rgcn := []tensor{{"lins.user.weight", []int{2, 1}, zeros(2)}, {"lins.user.bias", []int{2}, zeros(2)},
		{"lins.item.weight", []int{2, 1}, []float32{1, 1}}, {"lins.item.bias", []int{2}, zeros(2)},
		{"conv1.weight", []int{2, 2, 2}, []float32{1, 0, 0, 0, 0, 0, 0, 1}}, {"conv1.root", []int{2, 2}, zeros(4)},
		{"conv1.bias", []int{2}, zeros(2)}, {"conv2.weight", []int{2, 2, 2}, zeros(8)},
		{"conv2.root", []int{2, 2}, []float32{1, 0, 0, 1}}, {"conv2.bias", []int{2}, zeros(2)}}
	for name, tensors := range map[string][]tensor{"to_hetero(SAGEConv)": hetero, "RGCNConv": rgcn} {
		out := filepath.Join(t.TempDir(), "imported")
		report := run(t, "import --weights "+stateFile(t, tensors...)+" --model rgcn --data "+dir+
			" --preprocess none --nodes 8 --json --out "+out)
		got := accuracies(t, report, "rgcn")
		if got["O->O node"] != 100 || got["O->S node"] != 100 {
			t.Errorf("%s: accuracies %v, want 100", name, got)
		}
		bundle, err := artifact.ReadAll(out)
		expect.OK(t, err)
		r, err := demo.Run(t.Context(), d, demo.Options{Train: trainer.Defaults(), Artifact: bundle, Mode: config.ModeNode,
			Batch: 16, Progress: &cli.Lines{W: io.Discard}, Log: slog.New(slog.DiscardHandler)})
		expect.OK(t, err)
		if r.Arrivals != len(d.Test) || r.Predicted != len(d.Test) || r.DeadLetters != 0 || r.Accuracy != 100 {
			t.Errorf("%s: the stream %+v, want %d arrivals, all answered and right", name, r, len(d.Test))
		}
	}
}
