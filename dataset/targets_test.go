package dataset

import (
	"strings"
	"testing"

	"rivulet/dataset/table"
	"rivulet/infer/target"
	"rivulet/test/expect"
)

// Labels of a task of numbers are one column of numbers or several, in tables of CSV and in their settings' file.
func TestNumbersOfTables(t *testing.T) {
	edges := []byte("source,target\na,b\nc,d\n")
	files := map[string][]byte{"edges.csv": edges, "nodes.csv": []byte(
		"id,x,price,area,split\na,1,12.5,3,train\nb,2,-1e3,4,train\nc,3,7,5,val\nd,4,8,6,test\ne,5,,,unlabelled\n")}
	dir := writeTree(t, files)
	d, err := Open(dir, OpenOptions{Tables: table.Settings{Task: "number", Label: "price, area", Positional: true}})
	expect.OK(t, err)
	if d.Task != target.Number || strings.Join(d.Classes, " ") != "price area" || d.X.Cols() != 1 ||
		d.Targets.Row(1)[0] != -1000 || d.Targets.Row(3)[1] != 6 || d.Labels[0] != 0 || d.Labels[4] != -1 {
		t.Errorf("task %s: %q, labels %v, %v", d.Task, d.Classes, d.Labels, d.Targets)
	}
	again := d.Renumbered([]int32{4, 3, 2, 1, 0})
	if again.Targets.Row(0)[0] != d.Targets.Row(4)[0] || again.Targets.Row(3)[0] != -1000 {
		t.Errorf("numbers do not follow their nodes: %v", again.Targets)
	}
	if o := again.Original(); o.Targets.Rows != 3 || o.Targets.Row(1)[0] != -1000 {
		t.Errorf("T has the numbers %v", o.Targets)
	}
	other := *d
	other.Targets = d.Targets.Clone()
	other.Targets.Row(0)[0] = 13
	if other.Fingerprint() == d.Fingerprint() {
		t.Error("other numbers have the same fingerprint")
	}
	files["nodes.csv"] = []byte("id;x;price;split\na;1;12,5;train\nb;2;13;train\nc;3;7;val\nd;4;8;test\n")
	files["data.yaml"] = []byte("nodes: nodes.csv\nedges: edges.csv\ntask: number\nlabel: price\ndecimal: \",\"\n")
	if d, err = Open(writeTree(t, files), OpenOptions{}); err != nil || d.Targets.Row(0)[0] != 12.5 {
		t.Errorf("a decimal comma: %v", err)
	}
}

// Numbers to be predicted are no ids: those of many digits, as pandas or a spreadsheet writes them, are the numbers that
// they say, beside the same ones in full.
func TestNumbersOfManyDigits(t *testing.T) {
	nodes := "id,x,price,split\na,1,1.36e+18,train\nb,2,1361000000000000000,train\nc,3,1.3625500e+18,train\n" +
		"d,4,9007199254740994.0,val\ne,5,-2.5E+12,test\nf,6,,unlabelled\ng,7,NA,unlabelled\n"
	dir := writeTree(t, map[string][]byte{"edges.csv": []byte("source,target\na,b\nc,d\n"), "nodes.csv": []byte(nodes)})
	for _, positional := range []bool{true, false} {
		d, err := Open(dir, OpenOptions{Tables: table.Settings{Task: "number", Label: "price", Positional: positional}})
		expect.OK(t, err)
		for i, want := range []float32{1.36e18, 1.361e18, 1.36255e18, 9007199254740994, -2.5e12} {
			if got := d.Targets.Row(i)[0]; got != want || d.Labels[i] != 0 {
				t.Errorf("row %d has the number %v, want %v", i, got, want)
			}
		}
		if d.Labels[5] != -1 || d.Labels[6] != -1 {
			t.Errorf("nodes without a number have labels %v", d.Labels)
		}
	}
}

func TestNumbersOfTablesRefused(t *testing.T) {
	for want, c := range map[string]struct {
		nodes string
		s     table.Settings
	}{
		`node "a": column price: "dear" is no number`: {
			"id,x,price,split\na,1,dear,train\nb,2,3,train\nc,3,7,val\nd,4,8,test\n",
			table.Settings{Task: "number", Label: "price"}},
		`node "a": column price: "Inf" is no number`: {
			"id,x,price,split\na,1,Inf,train\nb,2,3,train\nc,3,7,val\nd,4,8,test\n",
			table.Settings{Task: "number", Label: "price"}},
		`columns price: "2;3" are 2 numbers, want 1`: {
			"id,x,price,split\na,1,2;3,train\nb,2,3,train\nc,3,7,val\nd,4,8,test\n",
			table.Settings{Task: "number", Label: "price"}},
		"another label of the node is": {"id,x,price,area,split\na,1,2,,train\nb,2,3,4,train\nc,3,7,5,val\nd,4,8,6,test\n",
			table.Settings{Task: "number", Label: "price,area"}},
		"there is nothing to learn": {"id,x,price,split\na,1,3,train\nb,2,3,train\nc,3,7,val\nd,4,8,test\n",
			table.Settings{Task: "number", Label: "price"}},
		"single precision does not carry": {
			"id,x,at,split\na,1,1700000000,train\nb,2,1700000128,train\nc,3,7,val\nd,4,8,test\n",
			table.Settings{Task: "number", Label: "at"}},
		"column at: its numbers lie around 1.7e+09 and differ by 0.5 only, which single precision does not carry: write": {
			"id,x,at,split\na,1,1700000000,train\nb,2,1700000001,train\nc,3,7,val\nd,4,8,test\n",
			table.Settings{Task: "number", Label: "at"}},
		"column mass: its numbers differ by 1e-40 only, which single precision does not carry": {
			"id,x,mass,split\na,1,1e-40,train\nb,2,3e-40,train\nc,3,7,val\nd,4,8,test\n",
			table.Settings{Task: "number", Label: "mass"}},
		"column mass: its numbers differ by 1e-60 only": { // float32 has 0 for both
			"id,x,mass,split\na,1,1e-60,train\nb,2,3e-60,train\nc,3,7,val\nd,4,8,test\n",
			table.Settings{Task: "number", Label: "mass"}},
		`node "b": column mass: "4e38" is beyond single precision, which ends at 3.4e+38`: {
			"id,x,mass,split\na,1,1,train\nb,2,4e38,train\nc,3,7,val\nd,4,8,test\n",
			table.Settings{Task: "number", Label: "mass"}},
		`node "b": column mass: "-1e400" is beyond single precision`: {
			"id,x,mass,split\na,1,1,train\nb,2,-1e400,train\nc,3,7,val\nd,4,8,test\n",
			table.Settings{Task: "number", Label: "mass"}},
		"all 3 training nodes have the number 0.1, and": {
			"id,x,p,split\na,1,0.1,train\nb,2,0.1,train\ne,2,0.1,train\nc,3,7,val\nd,4,8,test\n",
			table.Settings{Task: "number", Label: "p"}},
		"task is \"numbers\", want classes, labels, number or links": {"id,x,label,split\na,1,2,train\n",
			table.Settings{Task: "numbers"}},
		"column price is twice among the labels": {"id,x,price,split\na,1,2,train\n",
			table.Settings{Task: "number", Label: "price,price"}},
	} {
		dir := writeTree(t, map[string][]byte{"edges.csv": []byte("source,target\na,b\n"), "nodes.csv": []byte(c.nodes)})
		expect.Error(t, expect.ErrorOf(Open(dir, OpenOptions{Tables: c.s})), want)
	}
	for want, s := range map[string]table.Settings{
		"edges have directions, which task number does not read; without --directed": {Directed: true, DropWeights: true},
		"": {},
	} {
		dir := writeTree(t, map[string][]byte{"edges.csv": []byte("source,target,weight\na,b,2\n"),
			"nodes.csv": []byte("id,x,price,split\na,1,2,train\nb,2,3,train\nc,3,7,val\nd,4,8,test\n")})
		s.Task, s.Label = "number", "price"
		if _, err := Open(dir, OpenOptions{Tables: s}); (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	dir := writeFiles(t, pathFiles())
	expect.Error(t, expect.ErrorOf(Open(dir, OpenOptions{Tables: table.Settings{Task: "number"}})),
		"--task number is read from columns of tables", "GraphSAINT takes numbers")
}
