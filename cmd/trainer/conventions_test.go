package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// export is a graph of 120 nodes as some program writes it: a header and a function for the rows of each table.
type export struct {
	nodes, edges string             // names of the files
	node         string             // header; empty: none
	row          func(i int) string // of node i, whose class is i%2 and whose role is i/2%3
	edge         string             // header, or lines before the first edge
	end          func(i int) string // an id at an edge's end
	between      string             // stands between the ends
	after        string             // follows the ends
	init         []string           // arguments of data init, where it asks
	guesses      []string           // what data init says
	features     []string           // by name, of the model
}

func masks(i int, is, not string) string {
	all := []string{not, not, not}
	all[i/2%3] = is
	return strings.Join(all, ",")
}

// Tables in the form of each program's export are described, checked and trained on as they are; guesses are printed.
func TestConventions(t *testing.T) {
	plain := func(i int) string { return fmt.Sprint(i) }
	p := func(i int) string { return fmt.Sprintf("p%d", i) }
	value := func(i int) string { return fmt.Sprint(i%2*3 + i%5) }
	for name, e := range map[string]export{
		"Neo4j": {"nodes.csv", "relationships.csv", "personId:ID(Person),name,age:int,segment,:LABEL",
			func(i int) string {
				return fmt.Sprintf("p%d,Name %d,%s,%s,Person", i, i, value(i), []string{"gold", "free"}[i%2])
			},
			":START_ID(Person),:END_ID(Person),:TYPE\n", p, ",", ",KNOWS", []string{"--label", "segment"},
			[]string{"id: personId:ID(Person)", "drop name", "source: :START_ID(Person)", "target: :END_ID(Person)"},
			[]string{"age:int"}},
		"Neo4j, labels are classes": {"nodes.csv", "relationships.csv", ":ID,emb:float[],:LABEL",
			func(i int) string {
				return fmt.Sprintf("%d,%s.5;1,%s", i, value(i), []string{"Fraud;Account", "Account"}[i%2])
			},
			":START_ID,:END_ID\n", plain, ",", "", []string{"--task", "classes"}, []string{"id: :ID", "label: :LABEL"}, []string{"emb:float[]"}},
		"Neptune": {"vertices.csv", "edges.csv", "~id,~label,age:Int,churned:Bool",
			func(i int) string { return fmt.Sprintf("p%d,person,%s,%t", i, value(i), i%2 == 0) },
			"~from,~to,~label\n", p, ",", ",knows", nil, []string{"id: ~id", "label: churned:Bool", "source: ~from",
				"target: ~to"}, []string{"age:Int"}},
		"DGL": {"nodes_0.csv", "edges_0.csv", "node_id,label,train_mask,val_mask,test_mask,feat",
			func(i int) string {
				return fmt.Sprintf("%d,%d,%s,\"%s, 0.5\"", i, i%2, masks(i, "1.0", "0.0"), value(i))
			},
			"src_id,dst_id,feat\n", plain, ",", ",\"0.1, 0.2\"", nil,
			[]string{"nodes: the table nodes_0.csv is a guess", "edges: the table edges_0.csv is a guess",
				"the masks train_mask,val_mask,test_mask are a guess"},
			[]string{"feat"}},
		"GraphStorm": {"nodes.csv", "edges.csv", "nid,feat,label,train_mask,val_mask,test_mask",
			func(i int) string { return fmt.Sprintf("n%d,%s,%d,%s", i, value(i), i%2, masks(i, "True", "False")) },
			"source_id,dest_id\n", func(i int) string { return fmt.Sprintf("n%d", i) }, ",", "", nil,
			[]string{"id: nid", "target: dest_id", "masks"}, []string{"feat"}},
		"OGB": {"nodes.csv", "edges.csv", "node idx,paper id,feat_0,label,split",
			func(i int) string {
				return fmt.Sprintf("%d,%d,%s,%d,%s", i, 900+i, value(i), i%2, []string{"train", "valid", "test"}[i/2%3])
			},
			"head,tail\n", plain, ",", "", nil, []string{"id: node idx", "source: head", "target: tail"},
			[]string{"paper id", "feat_0"}},
		"Gephi": {"nodes.csv", "edges.csv", "Id,Label,timeset,modularity_class,x",
			func(i int) string { return fmt.Sprintf("%d,Node %d,,%d,%s", i, i, i%2, value(i)) },
			"Source,Target,Type,Weight\n", plain, ",", ",Undirected,1", nil,
			[]string{"id: Id", "label: modularity_class", "column Label has nearly as many classes as nodes", "drop Label"},
			[]string{"x"}},
		"NetworkX": {"nodes.csv", "edges.txt", "node,x,club",
			func(i int) string { return fmt.Sprintf("%d,%s,%s", i, value(i), []string{"Hi", "Officer"}[i%2]) },
			"", plain, " ", " {}", []string{"--label", "club"},
			[]string{"id: node", "has no line of column names: its columns are read as source, target,"},
			[]string{"x"}},
		"SNAP": {"nodes.csv", "com-friends.edges", "node,x,label",
			func(i int) string { return fmt.Sprintf("%d,%s,%d", i, value(i), i%2) },
			"# Undirected graph: friends\n# Nodes: 120 Edges: 120\n# FromNodeId\tToNodeId\n", plain, "\t", "", nil,
			[]string{"its columns are read as FromNodeId, ToNodeId", "source: FromNodeId"}, []string{"x"}},
		"SNAP, MUSAE": {"musae_target.csv", "musae_edges.csv", "id,name,days,ml_target",
			func(i int) string { return fmt.Sprintf("%d,user %d,%s,%d", i, i, value(i), i%2) },
			"id_1,id_2\n", plain, ",", "", nil, []string{"nodes: the table musae_target.csv", "label: ml_target",
				"target: id_2"}, []string{"days"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			nodes, edges := &strings.Builder{}, &strings.Builder{}
			fmt.Fprintln(nodes, e.node)
			edges.WriteString(e.edge)
			for i := range 120 {
				fmt.Fprintln(nodes, e.row(i))
				fmt.Fprintf(edges, "%s%s%s%s\n", e.end(i), e.between, e.end((i+2)%120), e.after)
			}
			for name, text := range map[string]string{e.nodes: nodes.String(), e.edges: edges.String()} {
				expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			out, err := harness.Execute(root(), append([]string{"data", "init", dir}, e.init...)...)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, guess := range e.guesses {
				if !strings.Contains(out, guess) {
					t.Errorf("init does not say %q:\n%s", guess, out)
				}
			}
			out, err = harness.Execute(root(), "data", "check", "--data", dir)
			if err != nil || !strings.Contains(out, "120 nodes, 120 edges, 2 classes; 0 nodes have no edge") {
				t.Fatalf("%v\n%s", err, out)
			}
			artifact := filepath.Join(dir, "model")
			if out, err := harness.Execute(root(), "train", "--data", dir, "--nodes", "4", "--costs=false", "--out",
				artifact); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			schema, err := os.ReadFile(filepath.Join(artifact, "schema.json"))
			if err != nil || strings.Count(string(schema), `"kind"`) != len(e.features) {
				t.Errorf("%v: %s, want the features %q", err, schema, e.features)
			}
			for _, name := range e.features {
				if !strings.Contains(string(schema), fmt.Sprintf("%q", name)) {
					t.Errorf("the schema lacks the feature %s: %s", name, schema)
				}
			}
		})
	}
}
