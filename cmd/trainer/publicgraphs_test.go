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

// lines makes a text of n lines.
func lines(head string, n int, line func(i int) string) string {
	var text strings.Builder
	text.WriteString(head)
	for i := range n {
		text.WriteString(line(i) + "\n")
	}
	return text.String()
}

// publicGraph is a small graph in the form of a public one: its files, the questions that init asks of it, the flags
// that answer them, and what check counts.
type publicGraph struct {
	files map[string]string
	asked []string // words of the questions and their flags; nil: nothing is asked
	flags []string // at most two settings
	says  []string // what init says
	count string   // what check counts
}

// A third of the numbers below n, spread without a pattern that rises.
func mix(i, n int) int { return (i*7919 + i*i*31) % n }

func publicGraphs() map[string]publicGraph {
	const n = 90
	labelled := lines("id,label,x\n", n, func(i int) string { return fmt.Sprintf("%d,%d,%d", i, i%2, i%2*3+i%5) })
	ends := func(i int) (int, int) { return mix(i, n), mix(i+17, n) }
	null := `\N`
	return map[string]publicGraph{
		"movie ratings, old form": {files: map[string]string{
			"u.data": lines("", 400, func(i int) string {
				return fmt.Sprintf("%d\t%d\t%d\t%d", 1+mix(i, 60), 1+mix(i+7, n), 1+i%5, 874724710+mix(i, 9999999))
			}),
			"u.user": lines("", 60, func(i int) string { return fmt.Sprintf("%d|%d|%c|student|%d", 1+i, 20+i%9, "MF"[i%2], 10000+i%7) }),
			"u.item": lines("", n, func(i int) string { return fmt.Sprintf("%d|Caf\xe9 %d|01-Jan-1995||%d|%d", 1+i, i, i%2, i%3%2) }),
			"README": "about\n",
		}, asked: []string{"share 60 ids", "--ends user:item"}, flags: []string{"--task", "links", "--ends", "user:item"},
			says: []string{"u.user: nodes of type user", "u.item: nodes of type item", "README: left out",
				"candidates: node_type=item", "encoding: latin1", "looks like times, seconds since 1970"},
			count: "150 nodes, "},
		"movie ratings, newer form": {files: map[string]string{
			"movies.csv": lines("movieId,title,genres\n", n, func(i int) string {
				return fmt.Sprintf("%d,\"Film %d, The\",%s", i+1, i, []string{"War", "War|Drama", "Comedy|Drama", "Comedy"}[i%4])
			}),
			"ratings.csv": lines("userId,movieId,rating,timestamp,,,,\n", 400, func(i int) string {
				return fmt.Sprintf("%d,%d,3.5,%d,,,,", 1+mix(i, 60), 1+mix(i+7, n), 874724710+mix(i, 9999999))
			}),
		}, asked: []string{"--ends user:movie", `"|" stands in 2 of 4 values`, "--task labels"},
			flags: []string{"--ends", "user:movie", "--task", "labels"},
			says:  []string{"nodes of type user have no table", "label_mark", "degree: the nodes have no features"},
			count: "3 labels"},
		"messages": {files: map[string]string{"nodes.csv": labelled,
			"CollegeMsg.txt": lines("", 400, func(i int) string {
				a, b := ends(i)
				return fmt.Sprintf("%d %d %d", a, b, 1082040961+i*37)
			})}, asked: []string{"looks like times, seconds since 1970 (2004", "--drop-weights"}, flags: []string{"--drop-weights"},
			count: "90 nodes, "},
		"messages of a benchmark": {files: map[string]string{"nodes.csv": labelled,
			"ml_messages.csv": lines(",u,i,ts,label,idx\n", 400, func(i int) string {
				a, b := ends(i)
				return fmt.Sprintf("%d,%d,%d,%d.0,0,%d", i, a, b, i*37, i+1)
			})}, says: []string{"edges, from u to i", "ts (rises from row to row like a clock", "idx (counts the rows"}, count: "90 nodes, "},
		"trust": {files: map[string]string{"traders.csv": labelled,
			"trust.csv": lines("", 400, func(i int) string {
				a, b := ends(i)
				return fmt.Sprintf("%d,%d,%d,%d.5", a, b, []int{-10, 1, 4}[i%3], 1289241911+i*97)
			})}, asked: []string{"numbers from -10 to 4, and a weight is above 0"}, flags: []string{"--drop-weights"}, count: "90 nodes, "},
		"mail": {files: map[string]string{
			"email-core.txt":                   lines("", 400, func(i int) string { a, b := ends(i); return fmt.Sprintf("%d %d", a, b) }),
			"email-core-department-labels.txt": lines("", n, func(i int) string { return fmt.Sprintf("%d %d", i, i%4) }),
		}, says: []string{"department-labels.txt: nodes", "label: 1 is a guess", "degree: the nodes have no features"}, count: "4 classes"},
		"airports": {files: map[string]string{
			"airports.dat": lines("", n, func(i int) string {
				return fmt.Sprintf(`%d,"Airport %d","City %d","%s","A%02d",%s,%d.5,"U"`, i+1, i, i%30, []string{"Peru", "Fiji"}[i%2],
					i, []string{null, `"AY"`}[i%2], i)
			}),
			"routes.dat": lines("", 400, func(i int) string {
				a, b := ends(i)
				end := fmt.Sprint(b + 1)
				if i%20 == 3 {
					end = null
				}
				return fmt.Sprintf("2B,%d,A%02d,%d,A%02d,%s,,0,CR2", 1+i%30, a, a+1, b, end)
			}),
		}, asked: []string{"--label COLUMN", "3 (2 values, such as Peru)", "20 of 400 edges", "--drop-unknown"},
			flags: []string{"--label", "3", "--drop-unknown"}, says: []string{"routes.dat: edges, from 3 to 5"}, count: "90 nodes, "},
		"a graph database": {files: map[string]string{
			"vertices.csv": lines("~id,~label,code:string,lat:double\n", n, func(i int) string {
				return fmt.Sprintf("v%d,%s,C%d,%d.5", i, []string{"city", "airport"}[i%2], i, i%2*9+i%4)
			}),
			"edges.csv": lines("~id,~from,~to,~label,dist:int\n", 400, func(i int) string {
				a, b := ends(i)
				return fmt.Sprintf("e%d,v%d,v%d,%s,%d", i, a, b, []string{"route", "contains"}[i%2], i%50)
			})}, says: []string{"edge_type: ~label", "dist:int"}, count: "90 nodes, "},
		"a tree of a graph database": {files: map[string]string{
			"tree-nodes.csv": lines("~id,~label,depth:int\n", n, func(i int) string {
				return fmt.Sprintf("n%d,%s,%d", i, []string{"leaf", "branch"}[i%2], i%9)
			}),
			"tree-nodes-links.csv": lines("~id,~from,~to,~label\n", n-1, func(i int) string {
				return fmt.Sprintf("t%d,n%d,n%d,child", i, i/2, i+1)
			})}, says: []string{"tree-nodes.csv: nodes", "tree-nodes-links.csv: edges, from ~from to ~to"}, count: "90 nodes, 89 edges"},
		"triples": {files: map[string]string{
			"train.txt": lines("", 300, func(i int) string { a, b := ends(i); return fmt.Sprintf("/m/%d\t/rel/%d\t/m/%d", a, i%46, b) }),
			"valid.txt": lines("", 50, func(i int) string { a, b := ends(i * 3); return fmt.Sprintf("/m/%d\t/rel/%d\t/m/%d", a, i%46, b) }),
			"test.txt":  lines("", 50, func(i int) string { a, b := ends(i * 5); return fmt.Sprintf("/m/%d\t/rel/%d\t/m/%d", a, i%46, b) }),
		}, asked: []string{"are 3 tables of edges", "--task links"}, flags: []string{"--task", "links", "--edges", "train.txt,valid.txt,test.txt"},
			says: []string{"train.txt: edges, from 0 to 2", "they are the ids at the ends"}, count: "task links"},
		"payments": {files: map[string]string{
			"txs_features.csv": lines("", n, func(i int) string { return fmt.Sprintf("%d,%d,%d.25,-0.%d,1.5", 23042598+i*7, 1+i%5, i%2*4, i%10) }),
			"txs_classes.csv": lines("txId,class\n", n, func(i int) string {
				return fmt.Sprintf("%d,%s", 23042598+i*7, []string{"1", "2", "unknown"}[i%3])
			}),
			"txs_edgelist.csv": lines("txId1,txId2\n", 300, func(i int) string {
				a, b := ends(i)
				return fmt.Sprintf("%d,%d", 23042598+a*7, 23042598+b*7)
			})}, says: []string{"txs_classes.csv: labels of the nodes", "txs_features.csv: nodes"}, count: "2 classes"},
		"a graph library": {files: map[string]string{
			"nodes_0.csv": lines("node_id,label,feat\n", n, func(i int) string { return fmt.Sprintf(`%d,%d,"%d.5, 0.%d"`, i, i%2, i%2, i%9) }),
			"edges_0.csv": lines("src_id,dst_id\n", 300, func(i int) string { a, b := ends(i); return fmt.Sprintf("%d,%d", a, b) }),
			"meta.yaml":   "dataset_name: d\n",
		}, says: []string{"meta.yaml: left out", "dgl:CSVDataset"}, count: "90 nodes, "},
		"bulk import": {files: map[string]string{
			"people.csv": lines("id:ID,name,age:int,:LABEL\n", n, func(i int) string {
				return fmt.Sprintf("p%d,Name %d,%d,%s", i, i, 20+i%2*30, []string{"Person;Gold", "Person", "Person;Silver"}[i%3])
			}),
			"knows.csv": lines(":START_ID,:END_ID,:TYPE\n", 300, func(i int) string { a, b := ends(i); return fmt.Sprintf("p%d,p%d,KNOWS", a, b) }),
		}, asked: []string{`";" stands in 2 of 3 values`, "--task labels"}, flags: []string{"--task", "labels"}, count: "3 labels"},
		"one file of nodes and edges": {files: map[string]string{
			"all.csv": lines("_id,_labels,age,_start,_end,_type\n", n, func(i int) string {
				return fmt.Sprintf("%d,:%s,%d,,,", i, []string{"Person", "Robot"}[i%2], i%2*30+i%4)
			}) + lines("", 300, func(i int) string { a, b := ends(i); return fmt.Sprintf(",,,%d,%d,KNOWS", a, b) }),
		}, says: []string{"all.csv: nodes and edges"}, count: "90 nodes, "},
	}
}

// Of each form of a public graph init asks all that is open in one run, writes nothing until it is answered, and needs
// two flags at most; check then reads the tables.
func TestPublicGraphs(t *testing.T) {
	for name, g := range publicGraphs() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range g.files {
				expect.OK(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
			}
			t.Chdir(dir)
			flags := g.flags
			if g.asked != nil {
				if flags[0] == "--task" && flags[1] == "links" && len(g.asked) == 2 && strings.HasPrefix(g.asked[0], "share") {
					flags = flags[:2] // what is learned is for the user to say
				} else {
					flags = nil
				}
				out, err := harness.Execute(root(), append([]string{"data", "init", "."}, flags...)...)
				expect.Error(t, err, "nothing is written")
				for _, words := range g.asked {
					if !strings.Contains(out, words) {
						t.Errorf("init does not ask %q:\n%s", words, out)
					}
				}
				if _, err := os.Stat("data.yaml"); err == nil {
					t.Error("data.yaml is written before the questions are answered")
				}
			}
			out, err := harness.Execute(root(), append([]string{"data", "init", "."}, g.flags...)...)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, words := range g.says {
				if !strings.Contains(out, words) {
					t.Errorf("init does not say %q:\n%s", words, out)
				}
			}
			for file := range g.files {
				if !strings.Contains(out, file+": ") {
					t.Errorf("init does not name %s:\n%s", file, out)
				}
			}
			out, err = harness.Execute(root(), "data", "check", "--data", ".")
			if err != nil || !strings.Contains(out, g.count) {
				t.Errorf("%v, want %q\n%s", err, g.count, out)
			}
		})
	}
}

// What this program does not read is named with the line of Python that does.
func TestPublicGraphsOfPython(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"skiprows=1": {"wikipedia.csv": lines("user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n", 30,
			func(i int) string { return fmt.Sprintf("%d,%d,%d.5,0,0.1,0.2,0.3,0.4,0.5,0.6", i%7, i%9, i) })},
		"ogb:NAME":          {"relations/author___writes___paper/edge.csv.gz": "", "num-node-dict.csv.gz": ""},
		"networkx.read_gml": {"graph.gml": "graph [ ]\n"},
		"read_pickle":       {"graph.pkl": "\x80\x04"},
	} {
		dir := t.TempDir()
		for file, text := range files {
			expect.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700))
			expect.OK(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
		}
		_, err := harness.Execute(root(), "data", "init", dir)
		expect.Error(t, err, want)
	}
}

// Forms of other files: what init takes them for, or asks.
func TestFormsOfDirectories(t *testing.T) {
	const n = 80
	ids := lines("id,label,x\n", n, func(i int) string { return fmt.Sprintf("%d,%d,%d", i, i%2, i%2*3+i%5) })
	named := lines("id,label,x\n", n, func(i int) string { return fmt.Sprintf("name%d,%d,%d", i, i%2, i%2*3+i%5) })
	pairs := func(form string) string {
		return lines("", 200, func(i int) string { return fmt.Sprintf(form, mix(i, n), mix(i+17, n)) })
	}
	users := lines("id,label,age\n", n, func(i int) string { return fmt.Sprintf("%d,%d,%d", i, i%2, i%40) })
	items := lines("id,price\n", 30, func(i int) string { return fmt.Sprintf("%d,%d", i, i%9) })
	bought := lines("user,item\n", 200, func(i int) string { return fmt.Sprintf("%d,%d", mix(i, n), mix(i+7, 30)) })
	for name, c := range map[string]struct {
		files map[string]string
		flags string
		says  []string // all lines of init and data.yaml
		count string   // of check; empty: init asks
	}{
		"names as text": {map[string]string{"nodes.csv": named, "e.txt": pairs("name%d name%d")}, "",
			[]string{"e.txt: edges, from source to target, 200 rows"}, "80 nodes, "},
		"names and weights": {map[string]string{"nodes.csv": named, "e.tsv": pairs("name%d\tname%d\t0.5")}, "",
			[]string{"weight: weight"}, "80 nodes, "},
		"attributes behind": {map[string]string{"nodes.csv": named, "e.edgelist": pairs("name%d name%d {'weight': 0.5}")}, "",
			[]string{"weight: weight"}, "80 nodes, "},
		"triples": {map[string]string{"nodes.csv": named, "kg.txt": pairs("name%d\tknows\tname%d")}, "",
			[]string{"kg.txt: edges, from 0 to 2"}, "80 nodes, "},
		"content and cites": {map[string]string{"p.cites": pairs("%d\t%d"),
			"p.content": lines("", n, func(i int) string { return fmt.Sprintf("%d\t%d\t%d\t%s", i, i%2, i%3%2, []string{"AI", "DB"}[i%2]) })},
			"", []string{`label: "3"`, "all others are numbers"}, "80 nodes, "},
		"a row number first": {map[string]string{"nodes.csv": ids,
			"e.txt": lines("", 200, func(i int) string { return fmt.Sprintf("%d %d %d", i, mix(i, n), mix(i+17, n)) })}, "",
			[]string{"its first column counts the rows", "--source 1 --target 2"}, ""},
		"a row number first, answered": {map[string]string{"nodes.csv": ids,
			"e.txt": lines("", 200, func(i int) string { return fmt.Sprintf("%d %d %d", i, mix(i, n), mix(i+17, n)) })},
			"--source 1 --target 2", []string{"e.txt: edges, from 1 to 2"}, "80 nodes, "},
		"ids of two tables": {map[string]string{"users.csv": users, "items.csv": items, "purchases.csv": bought}, "",
			[]string{"users.csv and items.csv share 30 ids", "--ends user:item", "--nodes users.csv"}, ""},
		"ids of two tables, answered": {map[string]string{"users.csv": users, "items.csv": items, "purchases.csv": bought},
			"--ends user:item", []string{"user: users.csv", "item: items.csv", "ends: user:item"}, "110 nodes, "},
		"two relations": {map[string]string{"users.csv": users, "items.csv": items, "purchases.csv": bought,
			"follows.csv": "user_id,friend_id\n" + pairs("%d,%d")}, "",
			[]string{"follows.csv, purchases.csv are 2 tables of edges", "--ends user:user,user:item"}, ""},
		"two relations, answered": {map[string]string{"users.csv": users, "items.csv": items, "purchases.csv": bought,
			"follows.csv": "user_id,friend_id\n" + pairs("%d,%d")},
			"--edges follows.csv,purchases.csv --ends user:user,user:item", []string{"follows.csv: edges, from user_id to friend_id",
				"purchases.csv: edges, from user to item"}, "110 nodes, "},
		"labels of their own": {map[string]string{"nodes.csv": lines("id,x\n", n, func(i int) string { return fmt.Sprintf("%d,%d", i, i%7) }),
			"labels.csv": lines("id,label\n", n, func(i int) string { return fmt.Sprintf("%d,%d", i, i%2) }),
			"edges.csv":  "source,target\n" + pairs("%d,%d")}, "", []string{"label_table: labels.csv"}, "2 classes"},
		"names or a row": {map[string]string{"nodes.csv": named,
			"e.csv": lines("", 40, func(i int) string { return fmt.Sprintf("name%d,name%d", i, i+40) })}, "",
			[]string{"--header e.csv=none"}, ""},
		"names or a row, answered": {map[string]string{"nodes.csv": named,
			"e.csv": lines("", 40, func(i int) string { return fmt.Sprintf("name%d,name%d", i, i+40) })}, "--header e.csv=none",
			[]string{"e.csv: edges, from 0 to 1, 40 rows"}, "80 nodes, 40 edges"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for file, text := range c.files {
				expect.OK(t, os.WriteFile(file, []byte(text), 0o600))
			}
			out, err := harness.Execute(root(), append([]string{"data", "init", "."}, strings.Fields(c.flags)...)...)
			text, _ := os.ReadFile("data.yaml") // there is none where init asks
			if (err == nil) != (c.count != "") || (text != nil) != (c.count != "") {
				t.Fatalf("%v\n%s\n%s", err, out, text)
			}
			for _, words := range c.says {
				if !strings.Contains(out+string(text), words) {
					t.Errorf("nothing says %q:\n%s\n%s", words, out, text)
				}
			}
			if c.count == "" {
				return
			}
			out, err = harness.Execute(root(), "data", "check", "--data", ".")
			if err != nil || !strings.Contains(out, c.count) {
				t.Errorf("%v, want %q\n%s", err, c.count, out)
			}
		})
	}
}

// Several tables of labels are asked about; small lists beside the edges are no edges; a type has the table of its name.
func TestFilesOfOneKind(t *testing.T) {
	rows := func(n int, line func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line(i) + "\n")
		}
		return b.String()
	}
	edges := "source,target\n" + rows(60, func(i int) string { return fmt.Sprintf("n%d,n%d", i, (i+1)%60) })
	labels := func(from int) string {
		return "id,label\n" + rows(20, func(i int) string { return fmt.Sprintf("n%d,%c", from+i, 'a'+i%2) })
	}
	ratings := rows(120, func(i int) string { return fmt.Sprintf("%d\t%d\t%d\t%d", 1+i%30, 1+i*7%25, 1+i%5, 1e9+i) })
	for name, c := range map[string]struct {
		files map[string]string
		flags string
		want  []string
	}{
		"labels by part": {map[string]string{"nodes.csv": "id,x\n" + rows(60, func(i int) string { return fmt.Sprintf("n%d,%d", i, i%7) }),
			"edges.csv": edges, "train.csv": labels(0), "val.csv": labels(20), "test.csv": labels(40)}, "",
			[]string{"test.csv and train.csv are tables of labels", "test.csv and val.csv are tables of labels", "--label-table FILE"}},
		"ratings with lists": {map[string]string{"u.data": ratings,
			"u.genre": "unknown|0\nAction|1\n", "u.info": "30 users\n25 items\n120 ratings\n",
			"u.user": rows(30, func(i int) string { return fmt.Sprintf("%d|%d|%c|job%d|%05d", i+1, 20+i%9, 'F'+i%2*7, i%4, 500+i*31) }),
			"u.item": rows(25, func(i int) string { return fmt.Sprintf("%d|Film %c|01-Jan-1995||%d|%d", i+1, 'a'+i, i%2, i%3) })},
			"--ends user:item --task links", []string{"u.genre: left out: its 2 rows", "u.info: left out: its 3 rows", "is written"}},
		"ratings with links": {map[string]string{
			"ratings.csv": "userId,movieId,rating\n" + rows(120, func(i int) string { return fmt.Sprintf("%d,%d,%d", 1+i%30, 1+i*7%25, 1+i%5) }),
			"links.csv":   "movieId,imdbId\n" + rows(25, func(i int) string { return fmt.Sprintf("%d,%d", i+1, 9000+7*i%31) }),
			"movies.csv":  "movieId,genres\n" + rows(25, func(i int) string { return fmt.Sprintf("%d,%c", i+1, 'a'+i%3) })},
			"--ends user:movie --task classes", []string{"movies.csv: nodes of type movie", "links.csv: left out"}},
	} {
		dir := t.TempDir()
		for file, text := range c.files {
			expect.OK(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
		}
		out, err := harness.Execute(root(), append([]string{"data", "init", dir}, strings.Fields(c.flags)...)...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %v: no %q in\n%s", name, err, want, out)
			}
		}
	}
}
