package dataset

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset/table"
	"rivulet/infer/target"
	"rivulet/schema"
	"rivulet/test/expect"
)

// shopOfTypes has users with classes and a split, items with features of their own, and shops without any.
var shopOfTypes = map[string]string{
	"users.csv": "id,label,split,age,since\nu1,a,train,20,2020\nu2,b,train,,2021\nu3,a,val,40,2022\nu4,b,test,50,2023\n",
	"items.csv": "id,price,since\ni1,5,new\ni2,7,old\ni3,,old\n",
	"shops.csv": "id\ns1\ns2\n",
	"edges.csv": "source,target\nu1,i1\nu2,i2\nu3,i1\nu4,i3\ni1,s1\ni2,s2\n",
	"data.yaml": "nodes: {user: users.csv, item: items.csv, shop: shops.csv}\nedges: edges.csv\n",
}

// openShop reads the tables of shopOfTypes with other contents of some.
func openShop(t *testing.T, changed map[string]string) (*Dataset, error) {
	t.Helper()
	files := map[string][]byte{}
	for _, of := range []map[string]string{shopOfTypes, changed} {
		for name, text := range of {
			files[name] = []byte(text)
		}
	}
	return Open(writeTree(t, files), OpenOptions{})
}

// A table for each type of nodes becomes one set of nodes: columns of the same name are one for each type, a type's
// nodes have no value in others' columns, and nodes of a type without labels are unlabelled nodes of T. Arrivals are of
// the types of validation and test nodes.
func TestTypesOfNodesOfTables(t *testing.T) {
	d, err := openShop(t, nil)
	expect.OK(t, err)
	var names []string
	missing := map[string][]bool{}
	for _, c := range d.Columns {
		names = append(names, c.Name)
		missing[c.Name] = c.Missing
	}
	if diff := cmp.Diff([]string{"node_type", "age", "user.since", "price", "item.since"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]bool{true, true, true, true, false, false, true, true, true}, missing["price"]); diff != "" {
		t.Error(diff)
	}
	want := &schema.Types{Column: "node_type", Arriving: []string{"user"},
		Of: map[string]string{"age": "user", "user.since": "user", "price": "item", "item.since": "item"}}
	if diff := cmp.Diff(want, d.NodeTypes); diff != "" {
		t.Error(diff)
	}
	types := []string{"user", "user", "user", "user", "item", "item", "item", "shop", "shop"}
	if diff := cmp.Diff(types, d.TypesOf()); diff != "" {
		t.Error(diff)
	}
	if len(d.Unlabelled) != 5 || len(d.Original().Nodes) != 7 {
		t.Errorf("%d unlabelled nodes, T has %d", len(d.Unlabelled), len(d.Original().Nodes))
	}
	notes := strings.Join(d.Notes, " ")
	for _, words := range []string{"Nodes are of 3 types: item (3), shop (2), user (4); arrivals are of user.",
		"age (number, 1 missing)", "price (number, 1 missing)", "item.since (text)"} {
		if !strings.Contains(notes, words) {
			t.Errorf("notes %q, want %q", notes, words)
		}
	}
	one := map[string]string{"nodes.csv": "id,label,split,node_type,age\nu1,a,train,user,20\nu2,b,train,user,\n" +
		"u3,a,val,user,40\nu4,b,test,user,50\n", "edges.csv": "source,target\nu1,u2\n",
		"data.yaml": "nodes: nodes.csv\nedges: edges.csv\n"}
	if d, err := openShop(t, one); err != nil || d.NodeTypes != nil || d.Facts().NodeTypes {
		t.Errorf("one table: %v", err)
	}
	if err := target.GrowthStudy.Check(d.Facts()); err == nil ||
		!strings.Contains(err.Error(), "which the study of growth does not read") {
		t.Error(err)
	}
	expect.Error(t, d.SaveCSV(t.TempDir()), "saving as tables", "saving")
}

// Flags name the tables, too, and the files of a type may be of another kind or a directory.
func TestTypesOfNodesByFlags(t *testing.T) {
	dir := writeTree(t, map[string][]byte{"users/a.csv": []byte("id,label,split,age\nu1,a,train,20\nu3,a,val,40\n"),
		"users/b.csv": []byte("label,id,split,age\nb,u2,train,31\nb,u4,test,50\n"),
		"items.csv":   []byte(shopOfTypes["items.csv"]), "edges.csv": []byte("source,target\nu1,i1\nu2,i2\n")})
	s := table.Settings{Edges: dir + "/edges.csv",
		Nodes: table.NodesPath("user=" + dir + "/users/,item=" + dir + "/items.csv")}
	d, err := OpenTables(OpenOptions{Tables: s})
	expect.OK(t, err)
	if diff := cmp.Diff([]string{"u1", "u3", "u2", "u4", "i1", "i2", "i3"}, d.IDs); diff != "" {
		t.Error(diff)
	}
	if d.Name != "users" {
		t.Errorf("name %q", d.Name)
	}
	if s.Nodes = table.NodesPath("kind=" + dir + "/nodes.csv"); s.NodeTables() != nil {
		t.Error("one path with = is two tables")
	}
}

// What tables of types do not say clearly is refused with the table, the column and the value.
func TestTypesOfNodesRefused(t *testing.T) {
	const edges = "\nedges: edges.csv\n"
	for words, changed := range map[string][2]string{ // a file, and what it has
		`column id: "u1" is already the id of`:              {"items.csv", "id,price\nu1,5\n"},
		`users.csv line 2; ids are distinct over all types`: {"items.csv", "id,price\nu1,5\n"},
		`items.csv: it has a column node_type`:              {"items.csv", "id,node_type\ni1,5\n"},
		`shops.csv: no column id among ["name"]`:            {"shops.csv", "name\ns1\n"},
		`nodes: two tables are of the type "a"`:             {"data.yaml", "nodes: a=users.csv,a=items.csv" + edges},
		`has the tables of 1 types, want at least 2`:        {"data.yaml", "nodes: {user: users.csv}" + edges},
		`want a type, without point, slash and comma`: {
			"data.yaml", "nodes: {a.b: users.csv, c: items.csv}" + edges},
		`none.csv: no such file`: {
			"data.yaml", "nodes: {user: users.csv, item: none.csv}" + edges},
		`--positional (positional) is for one table of nodes`: {
			"data.yaml", shopOfTypes["data.yaml"] + "positional: true\n"},
		`a table of features (features) is for one table`: {
			"data.yaml", shopOfTypes["data.yaml"] + "features: f.csv\n"},
		`column label: it is empty, but a train node needs one`: {"items.csv", "id,price,split\ni1,5,train\n"},
		`unknown key "nodess", did you mean nodes?`:             {"data.yaml", "nodess: users.csv" + edges},
		`line 5: unknown key "lable"`: {
			"data.yaml", "nodes: {user: users.csv, item: items.csv}\n\n" + edges + "lable: age\n"},
	} {
		_, err := openShop(t, map[string]string{changed[0]: changed[1]})
		expect.Error(t, err, words)
	}
}
