package dataset

import (
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
)

func TestOpenDetects(t *testing.T) {
	small := `id,a,label,split
x,1,A,tr
y,2,B,va
z,3,A,te
`
	for _, c := range []struct {
		name, path, want string
	}{
		{"GraphSAINT", writeFiles(t, pathFiles()), GraphSAINT},
		{"CSV", writeFiles(t, map[string][]byte{"nodes.csv": []byte(small), "edges.csv": []byte("source,target\nx,y\n")}),
			CSV},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := OpenOptions{}.format(c.path)
			if err != nil || f.Name != c.want {
				t.Fatalf("found %q, %v, want %q", f.Name, err, c.want)
			}
			d, err := Open(c.path, OpenOptions{})
			expect.OK(t, err)
			named, err := Open(c.path, OpenOptions{Format: c.want})
			if err != nil || named.Fingerprint() != d.Fingerprint() {
				t.Errorf("with the format's name: %v, not the same data set", err)
			}
			checkPromises(t, d)
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	both := pathFiles()
	both["nodes.csv"], both["edges.csv"] = []byte("id\n"), []byte("source\n")
	for _, c := range []struct {
		name, path string
		o          OpenOptions
		want       []string
	}{
		{"nothing there", filepath.Join(t.TempDir(), "none"), OpenOptions{}, []string{"none: no such file"}},
		{"nothing known", t.TempDir(), OpenOptions{}, []string{"looked for graphsaint: ", "adj_full.npz",
			"csv: ", "nodes.csv"}},
		{"Parquet without its reader", "parquet/testdata/lists", OpenOptions{}, []string{"Parquet, which the trainer reads"}},
		{"unknown format", t.TempDir(), OpenOptions{Format: "rdf"},
			[]string{`format is "rdf", want one of graphsaint, csv, tables`}},
		{"two formats", writeFiles(t, both), OpenOptions{}, []string{"looks like graphsaint and like csv: name the format"}},
		{"named, but not there", t.TempDir(), OpenOptions{Format: CSV},
			[]string{"(csv)", "neither nodes.csv nor nodes.csv.gz"}},
		{"named, but not there", t.TempDir(), OpenOptions{Format: GraphSAINT}, []string{"(graphsaint)", "adj_full.npz"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Open(c.path, c.o)
			if err == nil {
				t.Fatalf("no error: %+v", d)
			}
			for _, word := range append(c.want, "loading data set "+c.path) {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error lacks %q: %v", word, err)
				}
			}
		})
	}
}
