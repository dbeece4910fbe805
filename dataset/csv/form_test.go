package csv

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/dataset/table"
	"rivulet/test/expect"
)

// read returns the columns of a text and its rows, cells between bars, and what is open about it.
func read(t *testing.T, name, text string, form table.TextForm) (columns, rows, doubt string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
	source, err := table.Named(path, []table.Kind{Kind}, form)
	if err != nil {
		return "", "", "", err
	}
	err = source.Each(func(f table.File) error {
		columns, doubt = strings.Join(f.Columns(), "|"), f.Doubt()
		var all []int
		for k := range f.Columns() {
			all = append(all, k)
		}
		return f.Each(all, func(cells []table.Cell, _ table.Place) error {
			for k := range cells {
				rows += cells[k].Text + "|"
			}
			rows += "\n"
			return nil
		})
	})
	return columns, rows, doubt, err
}

// Files have any extension, separator and, by their first lines, a line of names or none.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		name, text, columns, rows string // the first row
	}{
		{"messages.txt", "1 2 1082040961\n3 4 1082155839\n", "source|target|weight", "1|2|1082040961|"},
		{"out.moreno", "% sym unweighted\n% 800 200 200\n109 49\n107 143\n", "source|target", "109|49|"},
		{"out.csv", "% sym, weighted\n109,49\n107,143\n", "source|target", "109|49|"},
		{"runs.txt", "  1   2\n 30  4\n", "source|target", "1|2|"},
		{"mixed.edges", "1\t2\n3 4\n", "source|target", "1|2|"},
		{"ratings.dat", "1::1193::5::978300760\n1::661::3::978302109\n", "source|target|weight|column 4",
			"1|1193|5|978300760|"},
		{"u.user", "1|24|M|technician|85711\n2|53|F|other|94043\n", "0|1|2|3|4", "1|24|M|technician|85711|"},
		{"users.dat", "id::age\n1::24\n2::53\n", "id|age", "1|24|"},
		{"routes.dat", "2B,410,AER,2965,KZN,2990,,0,CR2\n2B,410,ASF,2966,KZN,2990,,0,CR2\n", "0|1|2|3|4|5|6|7|8",
			"2B|410|AER|2965|KZN|2990||0|CR2|"},
		{"nulls.csv", "\\N,7,Peru\n5,8,Fiji\n", "0|1|2", "\\N|7|Peru|"},
		{"names.txt", "anna bob\nbob carla\ncarla anna\n", "source|target", "anna|bob|"},
		{"quoted.txt", "\"Anna A\" bob\nbob \"Carla C\"\n", "source|target", "Anna A|bob|"},
		{"triples.tsv", "a\tknows\tb\nb\tknows\tc\n", "0|1|2", "a|knows|b|"},
		{"named.tsv", "head\trelation\ttail\na\tknows\tb\nb\tknows\thead\n", "head|relation|tail", "a|knows|b|"},
		{"weights.edgelist", "anna bob {'weight': 0.5}\nbob carla {'weight': 2, 'kind': 'x y'}\n",
			"source|target|weight|kind", "anna|bob|0.5||"},
		{"commas.edgelist", "1,2,{'weight': 0.5}\n2,3,{}\n", "source|target|weight", "1|2|0.5|"},
		{"plain.edgelist", "1 2 {}\n2 3 {}\n", "source|target", "1|2|"},
		{"years.csv", "country,2019,2020\nPeru,5,6\nFiji,7,8\n", "country|2019|2020", "Peru|5|6|"},
		{"features.csv", "230425980,1,-0.17,3,4\n5530458,1,0.2,3,4\n", "0|1|2|3|4", "230425980|1|-0.17|3|4|"},
		{"trailing.csv", "userId,movieId,,\n1,2,,\n", "userId|movieId|column 2|column 3", "1|2|||"},
		{"index.csv", ",u,i\n0,1,2\n", "|u|i", "0|1|2|"},
		{"missing.csv", "id,label\nunknown,\\N\n", "id|label", "unknown|\\N|"},
	} {
		columns, rows, doubt, err := read(t, c.name, c.text, table.TextForm{})
		first, _, _ := strings.Cut(rows, "\n")
		if err != nil || columns != c.columns || first != c.rows || doubt != "" {
			t.Errorf("%s: columns %s, want %s; first row %s, want %s; %q, %v", c.name, columns, c.columns, first, c.rows, doubt, err)
		}
		if lines := strings.Count(c.text, "\n") - strings.Count(c.text, "%"); strings.Count(rows, "\n") < lines-1 {
			t.Errorf("%s: %d rows of %d lines", c.name, strings.Count(rows, "\n"), lines)
		}
	}
}

// A first line that may be names or a row is asked about, and the settings answer.
func TestDoubtfulFirstLine(t *testing.T) {
	for _, text := range []string{"payer,payee\nanna,bob\ncarla,dora\n", "0,1\n5,6\n7,8\n"} {
		if _, _, doubt, err := read(t, "e.csv", text, table.TextForm{}); err != nil || !strings.Contains(doubt, "has names, or is a row") {
			t.Errorf("%q: %q, %v", text, doubt, err)
		}
		for said, want := range map[string]int{"none": 3, "first": 2} {
			columns, rows, doubt, err := read(t, "e.csv", text, table.TextForm{Header: map[string]string{"e.csv": said}})
			if err != nil || doubt != "" || (columns == "0|1") != (said == "none" || text[0] == '0') {
				t.Errorf("%q, %s: columns %s, %q, %v", text, said, columns, doubt, err)
			}
			if n := strings.Count(rows, "\n"); n != want {
				t.Errorf("%q, %s: %d rows, want %d", text, said, n, want)
			}
		}
	}
}

// What is no table of text is named with the line of Python that reads it; so is a row that is longer than the names.
func TestFormsRefused(t *testing.T) {
	for name, want := range map[string]string{"g.gml": "networkx.read_gml", "g.pkl": "pandas.read_pickle", "d.pt": "rivulet_mcond.export",
		"meta.yaml": "dgl:CSVDataset", "x.json": "pandas.read_json"} {
		_, _, _, err := read(t, name, "x\n", table.TextForm{})
		expect.Error(t, err, want, name)
	}
	_, _, _, err := read(t, "w.csv", "user_id,item_id,list\n1,2,0.5,0.6\n", table.TextForm{})
	expect.Error(t, err, "4 cells under 3 names")
	expect.Error(t, err, "skiprows=1")
	_, _, _, err = read(t, "w.bin", "a\x00b", table.TextForm{})
	expect.Error(t, err, "it is no text")
	_, _, _, err = read(t, "e.txt", "1 2 \n3  4 5\n", table.TextForm{})
	expect.Error(t, err, "line 2: it has 3 cells, want 2")
	_, _, _, err = read(t, "e.txt", "1 2\n", table.TextForm{Separator: "abc"})
	expect.Error(t, err, fmt.Sprintf("separator is %q", "abc"))
}
