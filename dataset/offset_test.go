package dataset

import (
	"fmt"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// A feature whose values differ only in digits that float32 does not keep ends the reading, whatever the layout; the
// error names it. Large values that float32 tells apart are read, and so is a constant.
func TestOffsets(t *testing.T) {
	at := func(i int) float64 { return 1.7e9 + float64(i) } // seconds of one minute in 2023
	type value func(i int) string
	tables := func(header string, row value) func() error {
		return func() error {
			var nodes strings.Builder
			fmt.Fprintf(&nodes, "id,label,split,%s\n", header)
			for i := range 30 {
				fmt.Fprintf(&nodes, "n%d,%d,%s,%s\n", i, i%2, []string{"train", "val", "test"}[i%3], row(i))
			}
			_, err := Open(
				writeTree(t, map[string][]byte{"nodes.csv": []byte(nodes.String()), "edges.csv": []byte("source,target\nn0,n1\n")}),
				OpenOptions{})
			return err
		}
	}
	named := func(header string, row value) func() error {
		return tables(header+",plan", func(i int) string { return row(i) + []string{",gold", ",free"}[i%2] })
	}
	arrays := func(dtype string, values any) func() error {
		return func() error {
			files := pathFiles()
			delete(files, sparseFile)
			files[denseFile] = npyBytes(dtype, "(6, 2)", values)
			return expect.ErrorOf(openDir(writeFiles(t, files)))
		}
	}
	for name, c := range map[string]struct {
		read func() error
		want string // empty: it is read
	}{
		"by position": {tables("a,seen", func(i int) string { return fmt.Sprintf("%d,%.0f", i%4, at(i)) }),
			"column seen: its values are 1700000000 to 1700000029"},
		"by name": {named("seen", func(i int) string { return fmt.Sprintf("%.0f", at(i)) }), "--drop seen"},
		"one is missing": {named("seen", func(i int) string { return strings.Repeat(fmt.Sprintf("%.0f", at(i)), i%2) }),
			"--drop seen"},
		"negative": {named("seen", func(i int) string { return fmt.Sprintf("%.0f", -at(i)) }),
			"subtract -1700000029"},
		"column features": {tables("features", func(i int) string { return fmt.Sprintf("%d %.0f", i%4, at(i)) }),
			"column features[1]"},
		"a list of a name": {named("seen", func(i int) string { return fmt.Sprintf("\"[%d, %.0f]\"", i%4, at(i)) }),
			"column seen[1]"},
		"an array, float64": {arrays("<f8", []float64{1, at(1), 2, at(2), 3, at(3), 4, at(4), 5, at(5), 6, at(6)}),
			"feats.npy: column 1"},
		"an array, int64": {arrays("<i8", []int64{1, 1700000001, 2, 1700000002, 3, 1700000003, 4, 1700000004, 5, 1700000005,
			6, 1700000006}), "column 1"},
		"a constant":         {tables("a,seen", func(i int) string { return fmt.Sprintf("%d,1700000001", i%4) }), ""},
		"over years":         {tables("a,seen", func(i int) string { return fmt.Sprintf("%d,%.0f", i%4, at(1e7*i)) }), ""},
		"exact in float32":   {tables("a,seen", func(i int) string { return fmt.Sprintf("%d,%d", i%4, 1<<23+i) }), ""},
		"written as float32": {arrays("<f4", []float32{1, 1.7e9, 2, 1.7e9 + 128, 3, 1.7e9, 4, 1.7e9, 5, 1.7e9, 6, 1.7e9}), ""},
		"a small offset":     {tables("a", func(i int) string { return fmt.Sprint(1e-9 * at(i%2*1e6)) }), ""},
	} {
		if err := c.read(); c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}
