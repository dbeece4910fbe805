package dataset

import (
	"strings"
	"testing"

	"rivulet/dataset/table"
	"rivulet/infer/target"
	"rivulet/test/expect"
)

// Labels of a task of labels are one column of lists, in several forms, or a column of true and false for each.
func TestLabelsOfTables(t *testing.T) {
	edges := []byte("source,target\na,b\nc,d\n")
	for name, c := range map[string]struct {
		nodes string
		label string
	}{
		"marks": {"id,x,tags,split\na,1,red; blue,train\nb,2,;,train\nc,3,blue,val\nd,4,red,test\ne,5,,unlabelled\n",
			"tags"},
		"brackets": {"id,x,tags,split\na,1,\"['red', 'blue']\",train\nb,2,[],train\nc,3,\"[\"\"blue\"\"]\",val\n" +
			"d,4,[red],test\ne,5,,unlabelled\n", "tags"},
		"columns": {"id,x,blue,red,split\na,1,True,true,train\nb,2,False,false,train\nc,3,True,false,val\n" +
			"d,4,False,true,test\ne,5,,,unlabelled\n", "blue, red"},
		"flags": {"id,x,blue,red,split\na,1,1,1,train\nb,2,0,0,train\nc,3,1,0,val\nd,4,0,1,test\ne,5,,,unlabelled\n",
			"blue,red"},
	} {
		dir := writeTree(t, map[string][]byte{"edges.csv": edges, "nodes.csv": []byte(c.nodes)})
		for _, positional := range []bool{true, false} {
			d, err := Open(dir, OpenOptions{Tables: table.Settings{Task: "labels", Label: c.label, Positional: positional}})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if d.Task != target.Labels || strings.Join(d.Classes, " ") != "blue red" ||
				d.Labels[1] != 0 || d.Labels[4] != -1 || string(flags(d)) != "11 00 10 01 00 " {
				t.Errorf("%s: task %s: %q, labels %v, %s", name, d.Task, d.Classes, d.Labels, flags(d))
			}
		}
	}
}

func flags(d *Dataset) (text []byte) {
	for i := range d.Targets.Rows {
		for _, v := range d.Targets.Row(i) {
			text = append(text, '0'+byte(v))
		}
		text = append(text, ' ')
	}
	return text
}

func TestLabelsOfTablesRefused(t *testing.T) {
	for want, c := range map[string]struct{ nodes, label string }{
		`node "a": column tags: label "red" is there twice`: {"id,x,tags,split\na,1,red;red,train\nb,2,x,val\n", "tags"},
		`column tags: the list "[red" has no closing`:       {"id,x,tags,split\na,1,[red,train\nb,2,x,val\n", "tags"},
		`node "a": column blue: "maybe" is not true`: {"id,x,blue,red,split\na,1,maybe,1,train\nb,2,0,1,val\n",
			"blue,red"},
		"it is true or false, which are two classes": {"id,x,tags,split\na,1,true,train\nb,2,false,val\n", "tags"},
		"no node has a label":                        {"id,x,tags,split\na,1,;,train\nb,2,;,val\n", "tags"},
		`column tags: all 2 labelled nodes have the same labels, such as "blue"`: {
			"id,x,tags,split\na,1,red;blue,train\nb,2,blue;red,val\nc,3,,unlabelled\n", "tags"},
		"another label of the node is": {"id,x,blue,red,split\na,1,,1,train\nb,2,0,1,val\n", "blue,red"},
	} {
		dir := writeTree(t, map[string][]byte{"edges.csv": []byte("source,target\na,b\n"), "nodes.csv": []byte(c.nodes)})
		_, err := Open(dir, OpenOptions{Tables: table.Settings{Task: "labels", Label: c.label, Positional: true}})
		expect.Error(t, err, want)
	}
}

// GraphSAINT's lists of 0 and 1 with several ones, or none, are labels, as Yelp and PPI have them.
func TestLabelsOfGraphSAINT(t *testing.T) {
	files := pathFiles()
	files[classesFile] = []byte(`{"0": [1, 0, 1], "1": [0, 0, 0], "2": [0, 1, 0], "3": [1, 1, 0], "4": [0, 0, 1],
		"5": [1, 0, 0]}`)
	for _, task := range []string{"", "labels"} {
		d, err := Open(writeFiles(t, files), OpenOptions{Tables: table.Settings{Task: task}})
		expect.OK(t, err)
		if d.Task != target.Labels || strings.Join(d.Classes, " ") != "0 1 2" ||
			!strings.HasPrefix(string(flags(d)), "101 000 ") ||
			len(d.Notes) == 0 {
			t.Errorf("task %s: %q, %s, notes %q", d.Task, d.Classes, flags(d), d.Notes)
		}
	}
	for want, c := range map[string]struct{ task, text string }{
		"is of task labels":                {"classes", string(files[classesFile])},
		"--task number is read from":       {"number", string(files[classesFile])},
		"a list of 2, others as a list of": {"", `{"0": [1, 1, 1], "1": [0, 0]}`},
		"want 0 or 1":                      {"labels", `{"0": [1, 0, 2]}`},
		"want a list of 0 and 1":           {"labels", `{"0": 3}`},
		"has no class":                     {"", `{"0": [1, 1]}`},
	} {
		files[classesFile] = []byte(c.text)
		expect.Error(t, expect.ErrorOf(Open(writeFiles(t, files), OpenOptions{Tables: table.Settings{Task: c.task}})),
			want, "%s", c.text)
	}
}
