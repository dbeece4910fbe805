package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset/table"
	"rivulet/schema"
	"rivulet/test/expect"
)

// column reads 30 nodes with a column f, whose values row gives, beside a feature x, a label and a split.
func column(t *testing.T, row func(i int) string, s table.Settings) (*Dataset, error) {
	t.Helper()
	var nodes strings.Builder
	nodes.WriteString("id,f,x,label,split\n")
	for i := range 30 {
		fmt.Fprintf(&nodes, "%d,%s,%d,%d,%s\n", i, row(i), i%7, i%2, []string{"train", "val", "test"}[i%3])
	}
	return openTexts(t, nodes.String(), "source,target\n1,2\n", s)
}

// A list in a cell is read in the forms that programs print, or refused if numbers of it are lost; it never becomes
// text. What only looks like a list is text.
func TestListsInCells(t *testing.T) {
	for _, list := range []string{"0.5;1.5", "0.5 1.5", "[0.5 1.5]", "[0.5, 1.5]", "(0.5, 1.5)", "0.5|1.5", "{0.5,1.5}",
		"<0.5, 1.5>", "['0.5', '1.5']",
		"[np.float32(0.5), np.float64(1.5)]", "array([0.5, 1.5])", "array([0.5, 1.5], dtype=float32)",
		"tensor([0.5000, 1.5000], device='cuda:0')",
		"c(0.5, 1.5)", "WrappedArray(0.5, 1.5)", "DenseVector([0.5, 1.5])", "[5.e-01 1.5e+00]", "[ 0.5\n  1.5]",
		" [0.5,1.5,] "} {
		d, err := column(t, func(int) string { return `"` + list + `"` }, table.Settings{})
		if err != nil || d.Columns[0].Type != schema.Vector || !slices.Equal(d.Columns[0].Vectors[7], []float32{0.5, 1.5}) {
			t.Errorf("%q: %v, %+v", list, err, d)
		}
	}
	for list, want := range map[string]string{
		"[0.1 0.2 ... 0.9]": "shortened", "tensor([0.1, ..., 0.9])": "shortened", "0.1 0.2 ... 0.9": "shortened",
		"[0.1, 0.2": "no closing bracket",
		"0.1, 0.2]": "no opening bracket", "[0.1, nan]": "not a finite number", "[0.1, None]": `"None" is not a number`,
		"[[0.1, 0.2]]":        "not a number",
		"(3,[0,2],[1.0,2.0])": "no opening bracket", "0,1;0,2": "commas and semicolons",
		"1,250,000": "marks between thousands",
		"1 250 000": "marks between thousands",
	} {
		if _, err := column(t, func(int) string { return `"` + list + `"` }, table.Settings{}); err == nil ||
			!strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "column f") {
			t.Errorf("%q: error %v, want %q", list, err, want)
		}
	}
	for _, text := range []string{"12 Main Street", "(555) 123-4567", "[draft] 3 of 4", "a, b", "0.1/0.2", "v1.2 beta",
		"(old)", "{x}", "12:30 13:45"} {
		if d, err := column(t, func(int) string { return `"` + text + `"` }, table.Settings{}); err != nil ||
			d.Columns[0].Type != schema.Text {
			t.Errorf("%q: %v, %+v", text, err, d)
		}
	}
	for what, row := range map[string]func(int) string{
		"of other lengths":   func(i int) string { return strings.Repeat("1 ", 2+i%2) + "3" },
		"among broken ones":  func(i int) string { return []string{`"[1, 2]"`, `"[1, 2"`}[i/29] },
		"among shorter text": func(i int) string { return []string{`"[1, 2]"`, "none of it"}[i/29] },
	} {
		expect.Error(t, expect.ErrorOf(column(t, row, table.Settings{})), "column f", "lists %s", what)
	}
	if d, err := column(t, func(int) string { return `"120 250"` },
		table.Settings{Types: map[string]string{"f": "list"}}); err != nil ||
		len(d.Columns[0].Vectors[0]) != 2 {
		t.Errorf("a list by its type: %v", err)
	}
}

// Masks are the split by the names that PyG, DGL and GraphStorm give them, however a program writes true and false; a
// setting may name others.
func TestMasks(t *testing.T) {
	table3 := func(names, is, not string, change func(rows [][]string)) string {
		var rows [][]string
		for i := range 9 {
			row := []string{fmt.Sprint("n", i), fmt.Sprint(i % 4), fmt.Sprint(i % 2), not, not, not}
			if i < 8 {
				row[3+i%3] = is
			}
			rows = append(rows, row)
		}
		if change != nil {
			change(rows)
		}
		text := "id,x,label," + names + "\n"
		for _, row := range rows {
			text += strings.Join(row, ",") + "\n"
		}
		return text
	}
	const usual = "train_mask,val_mask,test_mask"
	for _, c := range []struct {
		names, is, not, split string
	}{
		{usual, "True", "False", ""}, {usual, "true", "false", ""}, {usual, "1", "0", ""}, {usual, "1.0", "0.0", ""},
		{usual, "TRUE", "", ""},
		{"is_train,is_valid,is_test", "True", "False", ""}, {"Train_Mask,Val_Mask,Test_Mask", "1", "0", ""},
		{"mask_train,mask_val,mask_test", "1", "0", ""},
		{"training_mask,validation_mask,test_mask", "1", "0", ""}, {"a,b,c", "1", "0", "a,b,c"},
		{"t,v,e", "True", "False", "t, v, e"},
	} {
		for _, positional := range []bool{false, true} {
			d, err := openTexts(t, table3(c.names, c.is, c.not, nil), "source,target\nn1,n2\n",
				table.Settings{Split: c.split, Positional: positional})
			if err != nil {
				t.Errorf("%+v: %v", c, err)
				continue
			}
			want := [][]int32{{0, 3, 6}, {1, 4, 7}, {2, 5}, {8}}
			if got := [][]int32{d.Train, d.Validation, d.Test, d.Unlabelled}; !cmp.Equal(want, got) || len(d.Columns) > 1 ||
				d.Labels[8] != -1 {
				t.Errorf("%+v: roles %v, want %v; features %+v", c, got, want, d.Columns)
			}
			if guess := strings.Contains(strings.Join(d.Notes, " "), "a guess by their names"); guess != (c.split == "") {
				t.Errorf("%+v: %q", c, d.Notes)
			}
		}
	}
	for want, c := range map[string]struct {
		names  string
		change func(rows [][]string)
		s      table.Settings
	}{
		"it is true, and the node is in train":     {usual, func(rows [][]string) { rows[0][4] = "1" }, table.Settings{}},
		`"2" is not true or false`:                 {usual, func(rows [][]string) { rows[0][4] = "2" }, table.Settings{}},
		"the masks of the other roles are missing": {"train_mask,b,c", nil, table.Settings{}},
		"a train node needs one":                   {usual, func(rows [][]string) { rows[0][2] = "" }, table.Settings{}},
		"no column d among":                        {"a,b,c", nil, table.Settings{Split: "a,b,d"}},
		"two of them are masks of train":           {"train_mask,is_train,test_mask", nil, table.Settings{}},
	} {
		expect.Error(t, expect.ErrorOf(openTexts(t, table3(c.names, "1", "0", c.change), "source,target\nn1,n2\n", c.s)),
			want)
	}
	d, err := openTexts(t, table3("train_mask,b,c", "1", "0", nil), "source,target\nn1,n2\n",
		table.Settings{Types: map[string]string{"train_mask": "bool"}})
	if err != nil || len(d.Columns) != 4 {
		t.Errorf("a mask that is said to be a feature: %v, %+v", err, d)
	}
}

// Labels that are no classes are refused, and those that hardly are become warnings.
func TestLabelsThatAreNoClasses(t *testing.T) {
	for name, c := range map[string]struct {
		label         func(i int) string
		err, suspects string
	}{
		"a name a node": {func(i int) string { return fmt.Sprintf("user %d", i) },
			"too many classes, 40 for 40 labelled nodes", ""},
		"an id a node":       {func(i int) string { return fmt.Sprint(1000 + i) }, "too many classes", ""},
		"numbers to predict": {func(i int) string { return fmt.Sprintf("%.2f", 50+float64(i)/7) }, "too many classes", ""},
		"a few prices": {func(i int) string { return fmt.Sprintf("%.2f", 9.99+float64(i%13)) },
			"are numbers with fractions", ""},
		"ratings with a half": {func(i int) string { return fmt.Sprintf("%.1f", 1+float64(i%4)/2) }, "",
			"numbers with fractions"},
		"a class for 4 nodes": {func(i int) string { return fmt.Sprintf("c%d", i%10) }, "", "too many classes, 10 for 40"},
		"one class": {func(int) string { return "Person" }, `all 40 labelled nodes have the one class "Person"`,
			""},
		"times": {func(i int) string { return fmt.Sprintf("2026-01-02 03:04:%02d", i) }, "too many classes",
			""},
		"a mark of no class": {func(i int) string { return fmt.Sprint(i%4 - 1) }, "", "-1 is read as a class"},
		"the same in floats": {func(i int) string { return fmt.Sprintf("%d.0", i%4-1) }, "", "-1 is read as a class"},
		"minus and plus":     {func(i int) string { return fmt.Sprint(i%2*2 - 1) }, "", ""},
		"differences":        {func(i int) string { return fmt.Sprint(i%3 - 2) }, "", ""},
		"two classes":        {func(i int) string { return fmt.Sprintf("c%d", i%2) }, "", ""},
		"integers as floats": {func(i int) string { return fmt.Sprintf("%d.0", i%3) }, "", ""},
		"no training node": {func(i int) string { return []string{"a", "b", "c"}[max(i%2, i/39*2)] }, "",
			`class "c" has no training node`},
		"one training node": {func(i int) string {
			if i == 36 || i > 37 {
				return "c"
			}
			return []string{"a", "b"}[i%2]
		}, "", `class "c" has one training node`},
	} {
		var nodes strings.Builder
		nodes.WriteString("id,x,label,split\n")
		for i := range 40 {
			fmt.Fprintf(&nodes, "n%d,%d,%s,%s\n", i, i%7, c.label(i), []string{"train", "train", "val", "test"}[i%4])
		}
		for _, positional := range []bool{false, true} {
			d, err := openTexts(t, nodes.String(), "source,target\nn1,n2\n", table.Settings{Positional: positional})
			if c.err != "" {
				expect.Error(t, err, c.err, "%s", name)
			} else if err != nil || (c.suspects == "") != (len(d.Suspects) == 0) || !strings.Contains(strings.Join(d.Suspects,
				" "), c.suspects) {
				t.Errorf("%s: %v, %q, want %q", name, err, d.Suspects, c.suspects)
			}
		}
	}
}

// A file that stands in the place of the data is called what it is, whatever the format.
func TestFilesInThePlaceOfData(t *testing.T) {
	const table = "id,x,label\na,1,A\n"
	for stranger, want := range map[string]string{
		"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n": "it is a Git LFS pointer",
		"<!DOCTYPE html>\n<html><head>":                                             "it is a web page (HTML)",
		"\n\n  <html lang=en>":                                                      "it is a web page (HTML)",
		"\xef\xbb\xbf<!doctype HTML>":                                               "it is a web page",
		"<?xml version=\"1.0\"?><Error><Code>AccessDenied":                          "it is XML",
	} {
		for format, files := range map[string]map[string][]byte{
			CSV:         {"nodes.csv": []byte(stranger), "edges.csv": []byte("source,target\n")},
			"csv edges": {"nodes.csv": []byte(table), "edges.csv": []byte(stranger)},
			"csv, gzip": {"nodes.csv.gz": []byte(stranger), "edges.csv": []byte("source,target\n")},
			GraphSAINT:  {"adj_full.npz": []byte(stranger)},
			"tables": {"data.yaml": []byte("nodes: n.csv\nedges: e.csv\n"), "n.csv": []byte(stranger),
				"e.csv": []byte("source,target\n")},
		} {
			format, _, _ = strings.Cut(format, " ")
			_, err := Open(writeTree(t, files), OpenOptions{Format: strings.TrimSuffix(format, ",")})
			expect.Error(t, err, want, "%s of %.20q", format, stranger)
		}
	}
}
