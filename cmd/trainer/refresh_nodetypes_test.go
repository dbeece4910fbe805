package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/dataset"
	"rivulet/dataset/graphsaint"
	"rivulet/schema"
	"rivulet/test/expect"
	"rivulet/trainer/features"
)

// Users arrive at a graph of items and users, by name and with typed edges. The refreshed graph and artifact are those
// of tables that had the users from the beginning, by the schema that serves; an arrival by position is refused, as it
// has no columns.
func TestRefreshOfTypesOfNodes(t *testing.T) {
	dir := t.TempDir()
	const items, users = 60, 240
	var ofItems, edges, arrivals, labels strings.Builder
	ofItems.WriteString("id,price\n")
	edges.WriteString("source,target,kind\n")
	for i := range items {
		fmt.Fprintf(&ofItems, "i%d,%d\n", i, 2*(i%3)+i%2)
	}
	var ofUsers, all strings.Builder
	for _, table := range []*strings.Builder{&ofUsers, &all} {
		table.WriteString("id,age,city,label,split\n")
	}
	var moreEdges string
	for u := range users {
		class, city, age := []string{"a", "b", "c"}[u%3], []string{"rome", "oslo"}[u%2], 20+u%3+u%7
		late, split := u >= users-60, []string{"train", "train", "val", "test"}[u/3%4]
		var rows, list []string
		for k := range 4 {
			kind, item := []string{"buys", "views"}[(u+k)%2], (u+3*(u*7+k*5)+k/3)%items
			rows = append(rows, fmt.Sprintf("u%d,i%d,%s\n", u, item, kind))
			list = append(list, fmt.Sprintf(`{"id": "i%d", "type": %q}`, item, kind))
		}
		if late {
			split = "train"
			moreEdges += strings.Join(rows, "")
			fmt.Fprintf(&arrivals, `{"id": "u%d", "features": {"named": {"age": %d, "city": %q}}, "edges": [%s]}`+"\n",
				u, age, city, strings.Join(list, ", "))
			fmt.Fprintf(&labels, `{"id": "u%d", "class_name": %q}`+"\n", u, class)
		} else {
			edges.WriteString(strings.Join(rows, ""))
		}
		row := fmt.Sprintf("u%d,%d,%s,%s,%s\n", u, age, city, class, split)
		if all.WriteString(row); !late {
			ofUsers.WriteString(row)
		}
	}
	for of, tables := range map[string][2]string{"tables": {ofUsers.String(), edges.String()},
		"all": {all.String(), edges.String() + moreEdges}} {
		expect.OK(t, os.Mkdir(filepath.Join(dir, of), 0o755))
		for name, text := range map[string]string{"items.csv": ofItems.String(), "users.csv": tables[0],
			"edges.csv": tables[1],
			"data.yaml": "nodes: {item: items.csv, user: users.csv}\nedges: edges.csv\nedge_type: kind\n"} {
			writeFile(t, filepath.Join(dir, of), name, []byte(text))
		}
	}
	writeFile(t, dir, "arrivals.jsonl", []byte(arrivals.String()+`{"id": "u999", "features": [1, 2, 3]}`+"\n"))
	writeFile(t, dir, "labels.jsonl", []byte(labels.String()))
	const model = " --costs=false --models rgcn --hidden 8 --nodes 30 --entries 3 --seed 5"
	mustRun(t, dir, "train --data {}/tables --out {}/first"+model)
	o, err := runRefresh(t, dir, "--data {}/tables --current {}/first --from {}/arrivals.jsonl --labels {}/labels.jsonl "+
		"--out {}/second --data-out {}/later --max-drop 100")
	expect.OK(t, err)
	refused := 0
	for _, n := range o.Merged.Refused {
		refused += n
	}
	if m := o.Merged; m.Joined != 60 || m.Labelled != 60 || m.UnknownEdges != 0 || refused != 1 {
		t.Errorf("%+v", m)
	}
	whole, err := dataset.Open(dir+"/all", dataset.OpenOptions{})
	expect.OK(t, err)
	if whole, _, err = features.Encode(whole, mustRead(t, dir+"/first").Schema, schema.FitOptions{}); err != nil {
		t.Fatal(err)
	}
	expect.OK(t, whole.Save(dir+"/whole"))
	later, err := dataset.Open(dir+"/later", dataset.OpenOptions{})
	expect.OK(t, err)
	if later.Merged = (graphsaint.Ends{}); later.Fingerprint() != whole.Fingerprint() {
		t.Error("the graph is not the one that had the arrivals from the beginning")
	}
	mustRun(t, dir, "train --data {}/whole --out {}/whole-model"+model)
	sameParts(t, dir+"/whole-model", dir+"/second")
}
