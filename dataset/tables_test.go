package dataset

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"rivulet/dataset/graphsaint"
	"rivulet/dataset/table"
	"rivulet/schema"
	"rivulet/test/expect"
)

// openTexts reads two tables as if --nodes and --edges named them.
func openTexts(t *testing.T, nodes, edges string, o table.Settings) (*Dataset, error) {
	t.Helper()
	dir := writeTree(t, map[string][]byte{"users.csv": []byte(nodes), "follows.csv": []byte(edges)})
	o.Nodes, o.Edges = table.NodesPath(dir+"/users.csv"), dir+"/follows.csv"
	return OpenTables(OpenOptions{Tables: o})
}

func mustOpenTexts(t *testing.T, nodes, edges string, o table.Settings) *Dataset {
	t.Helper()
	d, err := openTexts(t, nodes, edges, o)
	expect.OK(t, err)
	return d
}

const (
	users = "user_id,plan,active,joined,age,v,churned,fold\n" +
		"u1,gold,True,2026-01-02 03:04:05+01:00,31.5,\"[1, 2]\",yes,0\n" +
		"u2,,False,2026-01-03,,\"[3 4]\",no,1\n" +
		"u3,NA,,NaT,-2,,yes,2\n" +
		"u4,gold,True,2026-01-04T05:06:07Z,1e3,\"[5;6]\",,\n"
	follows = "follower,followee\nu1,u2\nu3,u4\n"
)

var usersTables = table.Settings{
	ID:          "user_id",
	Label:       "churned",
	Split:       "fold",
	SplitValues: map[string]string{"0": "train", "1": "val", "2": "test"},
	Source:      "follower",
	Target:      "followee",
}

func usersColumns() []schema.Column {
	at := func(text string) time.Time {
		moment, err := time.Parse(time.RFC3339, text)
		if err != nil {
			panic(err)
		}
		return moment
	}
	return []schema.Column{
		{
			Name:    "plan",
			Type:    schema.Text,
			Missing: []bool{false, true, true, false},
			Texts:   []string{"gold", "", "", "gold"},
		},
		{
			Name:    "active",
			Type:    schema.Bool,
			Missing: []bool{false, false, true, false},
			Bools:   []bool{true, false, false, true},
		},
		{Name: "joined", Type: schema.Time, Missing: []bool{false, false, true, false},
			Times: []time.Time{at("2026-01-02T02:04:05Z"), at("2026-01-03T00:00:00Z"), {}, at("2026-01-04T05:06:07Z")}},
		{Name: "age", Type: schema.Number, Missing: []bool{false, true, false, false}, Numbers: []float64{31.5, 0, -2, 1000}},
		{
			Name:    "v",
			Type:    schema.Vector,
			Missing: []bool{false, false, true, false},
			Vectors: [][]float32{{1, 2}, {3, 4}, nil, {5, 6}},
		},
	}
}

// Columns get the types that their values have; a node without label and split is unlabelled.
func TestNamedColumns(t *testing.T) {
	d := mustOpenTexts(t, users, follows, usersTables)
	expect.Same(t, usersColumns(), d.Columns, "columns")
	if diff := cmp.Diff([][]int32{{0}, {1}, {2}, {3}, {1, 0, 1, -1}},
		[][]int32{d.Train, d.Validation, d.Test, d.Unlabelled, d.Labels}); diff != "" {
		t.Errorf("roles and labels (-want +got):\n%s", diff)
	}
	if d.Name != "users" || d.X.Dense != nil || d.X.Sparse != nil || d.Adj.NNZ() != 4 {
		t.Errorf("%+v", d)
	}
	want := "Features by name: plan (text, 2 missing), active (bool, 1 missing), joined (time, UTC where no zone is " +
		"given, 1 missing), age (number, 1 missing), v (list of 2, 1 missing)."
	expect.Same(t, []string{want}, d.Notes, "notes")
}

// The same rows in other forms give the same columns, and so does data.yaml.
func TestFormsOfText(t *testing.T) {
	semicolons := strings.NewReplacer(",", ";", "\"[1, 2]\"", "[1 2]", "31.5", "31,5").
		Replace(strings.ReplaceAll(users, "[1, 2]", "[1 2]"))
	encoder, err := zstd.NewWriter(nil)
	expect.OK(t, err)
	described := func(extra string) []byte {
		return []byte(
			"nodes: n.csv\nedges: e.csv\nid: user_id\nlabel: churned\nsplit: fold\nsplit_values: {0: train, 1: val, 2: test}\n" +
				"source: follower\ntarget: followee\n" + extra,
		)
	}
	for name, files := range map[string]map[string][]byte{
		"data.yaml": {"n.csv": []byte(users), "e.csv": []byte(follows), "data.yaml": described("")},
		"decimal commas": {"n.csv": []byte(semicolons), "e.csv": []byte(follows),
			"data.yaml": described("decimal: \",\"\n")},
		"CR LF": {"n.csv": []byte(strings.ReplaceAll(users, "\n", "\r\n")), "e.csv": []byte(follows),
			"data.yaml": described("")},
		"byte order mark": {"n.csv": []byte("\xef\xbb\xbf" + users), "e.csv": []byte(follows),
			"data.yaml": described("encoding: latin1\n")},
		"tabs": {"n.csv": []byte(strings.ReplaceAll(strings.ReplaceAll(users, "[1, 2]", "[1 2]"), ",", "\t")),
			"e.csv":     []byte(follows),
			"data.yaml": described("")},
		"compressed": {"n/a.csv.zst": encoder.EncodeAll([]byte(users), nil), "e.csv.gz": gzipped(t, follows),
			"data.yaml": []byte(strings.NewReplacer("n.csv", "n", "e.csv", "e.csv.gz").Replace(string(described(""))))},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeTree(t, files)
			for _, path := range []string{dir, dir + "/data.yaml"} {
				d, err := Open(path, OpenOptions{})
				expect.OK(t, err)
				if diff := cmp.Diff(usersColumns(), d.Columns); diff != "" || d.Name != "path" {
					t.Errorf("%s (-want +got):\n%s", d.Name, diff)
				}
			}
		})
	}
}

// Ids, labels and splits that were read as floats are the integers that they were.
func TestIntegersReadAsFloats(t *testing.T) {
	nodes := "id,x,label,split\n1,a,1.0,0.0\n17,b,3.0,1.0\n100000,c,3.0,2.0\n5,d,,\n"
	d := mustOpenTexts(
		t,
		nodes,
		"source,target\n1.0,17.0\n1e+05,5.0\n",
		table.Settings{SplitValues: map[string]string{"0": "train", "1": "val", "2": "test"}},
	)
	if diff := cmp.Diff([]string{"1", "17", "100000", "5"}, d.IDs); diff != "" || d.Adj.NNZ() != 4 {
		t.Errorf("%d edges, ids (-want +got):\n%s", d.Adj.NNZ()/2, diff)
	}
	expect.Same(t, []string{"1", "3"}, d.Classes, "classes")
	floats := mustOpenTexts(
		t,
		strings.NewReplacer("\n1,", "\n1.0,", "\n17,", "\n17.0,", "\n5,", "\n5.0,", "100000", "1e+05").Replace(nodes),
		"source,target\n1,17\n100000,5\n",
		table.Settings{SplitValues: map[string]string{"0": "train", "1": "val", "2": "test"}},
	)
	if floats.Fingerprint() != d.Fingerprint() {
		t.Errorf("ids %q and %q give two data sets", floats.IDs, d.IDs)
	}
	if _, err := openTexts(t, "id,x,label\n1,a,A\n", "source,target\n9.007199254740994e+15,1\n",
		table.Settings{}); err == nil ||
		!strings.Contains(err.Error(), "lost digits") {
		t.Errorf("an id that lost digits: %v", err)
	}
	// Text that only looks like a number now and then stays as it is.
	if d := mustOpenTexts(t, "id,x,label\n1e5,a,A\nabc,b,B\n007,c,A\nd,d,B\n", "source,target\n1e5,007\n",
		table.Settings{}); d.IDs[0] != "1e5" ||
		d.IDs[2] != "007" {
		t.Errorf("ids %q", d.IDs)
	}
}

func TestNamedRefuses(t *testing.T) {
	row := func(cells string) string {
		return "id,age,city,label,split\na,1,x,A,train\nb,2,y,B,val\n" + cells + "\nd,4,y,B,test\n"
	}
	for _, c := range []struct {
		name, nodes, edges string
		o                  table.Settings
		want               []string
	}{
		{"index", ",id,age,label\n0,a,1,A\n", "", table.Settings{},
			[]string{`column ""`, "row number that pandas writes", "index=False"}},
		{"index read again", "Unnamed: 0,id,age,label\n0,a,1,A\n", "", table.Settings{},
			[]string{`"Unnamed: 0"`, "index=False"}},
		{"index of Parquet", "__index_level_0__,id,age,label\n0,a,1,A\n", "", table.Settings{},
			[]string{`"__index_level_0__"`, "index=False"}},
		{"headers twice", "id,age,age,label\na,1,2,A\n", "", table.Settings{}, []string{`two columns are named "age"`}},
		{"a word among numbers", row("c,old,y,A,test"), "", table.Settings{},
			[]string{"users.csv line 4: column age", `"old" is not a number`, "3 of the column's 4 values"}},
		{"infinity", row("c,inf,y,A,test"), "", table.Settings{},
			[]string{"users.csv line 4: column age", "Inf is not a finite number"}},
		{"beyond float32", row("c,1e39,y,A,test"), "", table.Settings{Types: map[string]string{"age": "number"}},
			[]string{"users.csv: line 4: column age", "float32"}},
		{"decimal commas", "id;age;label\na;1,5;A\nb;2;B\n", "", table.Settings{},
			[]string{"line 2: column age", `"1,5"`, "decimal"}},
		{"ambiguous dates", "id,day,label\na,01/02/2026,A\nb,03/02/2026,B\n", "", table.Settings{},
			[]string{"line 2: column day", "01/02/2026", "several dates"}},
		{"Latin-1", row("c,1,caf\xe9,A,test"), "", table.Settings{},
			[]string{"line 4", "column city", "not UTF-8", "latin1"}},
		{"Latin-1 header", "id,caf\xe9,label\n", "", table.Settings{}, []string{"line 1", "not UTF-8"}},
		{"UTF-16", "\xff\xfei\x00d\x00", "", table.Settings{}, []string{"UTF-16"}},
		{"lengths of lists", "id,v,label\na,[1 2],A\nb,[1],B\n", "", table.Settings{},
			[]string{"line 3", "column v", "1 values, want 2", "line 2"}},
		{"label missing", row("c,1,x,,test"), "", table.Settings{},
			[]string{"line 4", "column label", "test node needs one"}},
		{"label missing as NaN", row("c,1,x,NaN,train"), "", table.Settings{},
			[]string{"line 4", "column label", "train node needs one"}},
		{"split value", row("c,1,x,A,5"), "", table.Settings{},
			[]string{"line 4", "column split", `"5"`, "say which values"}},
		{"split value of a map", row("c,1,x,A,5"), "", table.Settings{SplitValues: map[string]string{"train": "train",
			"val": "val"}}, []string{"line 4", "column split", `"5"`}},
		{"dangling", row("c,1,x,A,test"), "source,target\na,zoe\n", table.Settings{},
			[]string{"follows.csv: line 2", "column target", `"zoe" is not the id`}},
		{"no such column", row("c,1,x,A,test"), "", table.Settings{Label: "churned"},
			[]string{"no column churned", `"city"`}},
		{"nothing to drop", row("c,1,x,A,test"), "", table.Settings{Drop: []string{"town"}}, []string{"no column town"}},
		{"unknown type", row("c,1,x,A,test"), "", table.Settings{Types: map[string]string{"age": "int"}},
			[]string{`column age is "int"`}},
		{"unknown role", row("c,1,x,A,test"), "", table.Settings{SplitValues: map[string]string{"0": "dev"}},
			[]string{`"dev"`}},
		{"weight", row("c,1,x,A,test"), "source,target,weight\na,b,1\nc,d,-0.5\n", table.Settings{},
			[]string{"follows.csv: line 3", "column weight", "-0.5", "drop_weights"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.edges == "" {
				c.edges = "source,target\n"
			}
			_, err := openTexts(t, c.nodes, c.edges, c.o)
			if err == nil {
				t.Fatal("no error")
			}
			for _, word := range c.want {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error lacks %q: %v", word, err)
				}
			}
		})
	}
}

// Settings for columns win over the look of their values.
func TestSaidTypes(t *testing.T) {
	nodes := "id,zip,note,n,Unnamed: 0,label\na,01,1,1,0,A\nb,02,2,0,1,B\nc,03,x,1,2,A\nd,04,\xe9,0,3,B\n"
	d := mustOpenTexts(
		t,
		nodes,
		"source,target,weight\na,b,2\nc,d,\n",
		table.Settings{Types: map[string]string{"zip": "category", "note": "text", "n": "bool"},
			Drop: []string{"Unnamed: 0"}, DropWeights: true, TextForm: table.TextForm{Encoding: "latin1"}},
	)
	want := []schema.Column{
		{Name: "zip", Type: schema.Text, Categorical: true, Texts: []string{"01", "02", "03", "04"}},
		{Name: "note", Type: schema.Text, Texts: []string{"1", "2", "x", "é"}},
		{Name: "n", Type: schema.Bool, Bools: []bool{true, false, true, false}},
	}
	expect.Same(t, want, d.Columns, "columns")
	notes := strings.Join(d.Notes, "\n")
	for _, word := range []string{"Weights of edges were dropped: 2 were not 1.",
		`nodes that were ignored: ["Unnamed: 0"]`, "zip (category)"} {
		if !strings.Contains(notes, word) {
			t.Errorf("notes lack %q:\n%s", word, notes)
		}
	}
}

// A directory by convention has features by position if all are numbers, and names otherwise.
func TestDirectoryOfNames(t *testing.T) {
	files := map[string][]byte{"nodes.csv": []byte(csvNodes), "edges.csv": []byte(csvEdges)}
	positional, err := Open(writeTree(t, files), OpenOptions{})
	expect.OK(t, err)
	if want := csvSet().Fingerprint(); positional.Columns != nil || positional.Fingerprint() != want {
		t.Errorf("fingerprint %s, want %s", positional.Fingerprint(), want)
	}
	named := maps.Clone(files)
	named["nodes.csv"] = []byte(strings.Replace(csvNodes, "1.7", "", 1))
	d, err := Open(writeTree(t, named), OpenOptions{})
	expect.OK(t, err)
	if len(d.Columns) != 2 || !d.Columns[1].Missing[0] || d.X.Dense != nil {
		t.Errorf("%+v", d)
	}
	other := *d
	other.Columns = append([]schema.Column{}, d.Columns...)
	other.Columns[0].Name = "years"
	if other.Fingerprint() == d.Fingerprint() || d.Fingerprint() == positional.Fingerprint() {
		t.Error("columns do not count for the fingerprint")
	}
}

func TestTablesFile(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "want nodes and edges",
		"nodes: a.csv\nedge: b.csv\n": `data.yaml: line 2: unknown key "edge", did you mean edges?`,
		"nodes: a.csv\nedges: b.csv\ntypes: {a: int}\n": `"int"`,
		"nodes: [":                                    "line 1: did not find expected node content",
		"# none\n":                                    "want nodes and edges",
		"- nodes\n":                                   "line 1: want keys and values",
		"a: b: c\n":                                   "data.yaml: mapping values are not allowed in this context",
		"nodes: a.csv\nedges: [b.csv]":                "line 2: edges is a list, want a text",
		"edges: b.csv\ndirected: yes!":                `line 2: directed is "yes!", want true or false`,
		"edges: b.csv\ndrop: age":                     `line 2: drop is "age", want a list of texts`,
		"edges: b.csv\n\ntypes: [a]":                  "line 3: types is a list, want names with a text each",
		"edges: b.csv\nsperator: ';'":                 `line 2: unknown key "sperator", did you mean separator?`,
		"edges: b.csv\nedges: c.csv":                  "line 2: edges is there twice, first in line 1",
		"id: a\nlable: b\nvalue: c\n":                 `line 2: unknown key "lable", did you mean label?; line 3: unknown key "value"`,
		"edges: b.csv\nnodes: {u/x: a.csv, i: b.csv}": `line 2: nodes: "u/x"`,
		"edges: " + strings.Repeat("x", 1<<20):        "more than 1048576 bytes",
	} {
		file := writeTree(t, map[string][]byte{"data.yaml": []byte(text)}) + "/data.yaml"
		expect.Error(t, expect.ErrorOf(table.ReadSettings(file)), want, "%q", text)
	}
	over := table.Settings{
		Label: "y",
		Types: map[string]string{"a": "text"},
	}.Over(
		table.Settings{Label: "x", ID: "i", Types: map[string]string{"a": "number", "b": "bool"}},
	)
	if diff := cmp.Diff(table.Settings{Label: "y", ID: "i", Types: map[string]string{"a": "text", "b": "bool"}},
		over); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Classes of class_map.json may begin at 1, have gaps, or be text: classes are numbered anew, and keep their names.
func TestClassMapsOfOtherNumbers(t *testing.T) {
	for text, want := range map[string][]string{
		`{"0":1,"1":2,"2":1,"3":2,"4":2,"5":1}`:                         {"1", "2"},
		`{"0":7,"1":40,"2":7,"3":40,"4":7,"5":7}`:                       {"7", "40"},
		`{"0":"cat","1":"dog","2":"cat","3":"dog","4":"cat","5":"cat"}`: {"cat", "dog"},
		`{"0":[0,1,0],"1":[0,0,1],"2":[0,1,0],"3":[0,0,1],"4":null}`:    {"1", "2"},
		`{"0":0,"1":1,"2":0}`:                                           {"0", "1"},
	} {
		names, err := graphsaint.ReadClasses(strings.NewReader(text), 6)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		labels, classes := numbered(names)
		if diff := cmp.Diff(want, classes); diff != "" || labels[0] != 0 || labels[1] != 1 {
			t.Errorf("%s: labels %v, classes (-want +got):\n%s", text, labels, diff)
		}
	}
}

// Edges to ids that no node has may be dropped, and counted. If all or most are such edges the tables do not belong
// together: that is an error, or is said.
func TestDropUnknown(t *testing.T) {
	nodes := "id,x,label,split\n1,1,a,train\n2,2,b,val\n3,3,a,test\n"
	for edges, want := range map[string]struct{ err, note, suspect string }{
		"source,target\n1,2\n2,3\n9,1\n": {note: "1 edges to or from ids that no node has were dropped."},
		"source,target\n1,2\n9,3\n9,1\n": {note: "2 edges",
			suspect: "more edges are to or from ids that no node has, 2, than between nodes, 1"},
		"source,target\n9,3\n9,1\n": {err: "all 2 edges are to or from ids that no node has"},
		"source,target\n":           {suspect: "the graph has no edge"},
		"source,target\n1,\n":       {err: "column target: it is empty"},
	} {
		for _, positional := range []bool{false, true} {
			d, err := openTexts(t, nodes, edges, table.Settings{DropUnknown: true, Positional: positional})
			if want.err != "" {
				expect.Error(t, err, want.err, "%q", edges)
				continue
			}
			if err != nil || !strings.Contains(strings.Join(d.Notes, " "), want.note) ||
				!strings.Contains(strings.Join(d.Suspects, " "), want.suspect) {
				t.Errorf("%q: %v, %+v", edges, err, d)
			}
		}
	}
	expect.Error(t, expect.ErrorOf(openTexts(t, nodes, "source,target\n1,2\n9,1\n", table.Settings{})),
		`"9" is not the id of a node`, "without the setting")
}
