package dataflag

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"rivulet/dataset"
	"rivulet/test/expect"
)

func parse(t *testing.T, line string) (*Data, *strings.Builder) {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	d := Register(flags, "")
	expect.OK(t, flags.Parse(strings.Fields(line)))
	notes := &strings.Builder{}
	d.Notes = notes
	return d, notes
}

func shop(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	expect.OK(t, os.Mkdir(dir, 0o700))
	for name, text := range map[string]string{
		"nodes.csv": "id,x,label\na,1,A\nb,2,B\nc,3,A\nd,4,B\n",
		"edges.csv": "source,target\na,b\nc,d\nd,d\n",
	} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestOpen(t *testing.T) {
	dir := shop(t)
	d, notes := parse(t, "--split-seed 4 --data "+dir)
	set, err := d.Open("small")
	expect.OK(t, err)
	if set.Name != "shop" || set.Nodes() != 4 {
		t.Errorf("%s with %d nodes", set.Name, set.Nodes())
	}
	for _, want := range []string{"shop: 1 self-loops were dropped", "with seed 4"} {
		if !strings.Contains(notes.String(), want) {
			t.Errorf("notes lack %q:\n%s", want, notes)
		}
	}
	for line, nodes := range map[string]int{
		"":                                    6000,
		"--preset small --preset-seed 3":      6000,
		"--preset pubmed --preset-nodes 2000": 2000,
		"--preset-nodes 900":                  900,
		"--format csv --data " + dir:          4,
	} {
		d, _ := parse(t, line)
		if set, err := d.Open("small"); err != nil || set.Nodes() != nodes {
			t.Errorf("%q: %v, want %d nodes", line, err, nodes)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := shop(t)
	for line, want := range map[string]string{
		"":                                     "no data set: give --data DIR",
		"--preset small --data " + dir:         "both --data",
		"--preset-nodes 5 --data " + dir:       "--preset-nodes is 5",
		"--preset twitter":                     `--preset is "twitter", want one of small, flickr`,
		"--preset small --preset-nodes 1":      "--preset-nodes: preset small with 1 nodes",
		"--preset small --format csv":          "--format is csv, but no --data",
		"--preset small --drop-unknown":        "a flag says what columns of tables mean",
		"--preset small --drop-weights":        "a flag says what columns of tables mean",
		"--preset small --directed":            "a flag says what columns of tables mean",
		"--preset small --arrival-edges in":    "a flag says what columns of tables mean",
		"--format parquet --data " + dir:       `format is "parquet", want one of graphsaint`,
		"--data " + filepath.Join(dir, "none"): "no such file",
	} {
		d, _ := parse(t, line)
		expect.Error(t, expect.ErrorOf(d.Open("")), want, "%q", line)
	}
}

// A command reads the formats that packages registered beside those of package dataset.
func TestRegisteredFormats(t *testing.T) {
	dataset.Register(dataset.Format{Name: "other", Found: func(string) bool { return false },
		Read: func(string, dataset.OpenOptions) (*dataset.Dataset, error) {
			return &dataset.Dataset{Name: "of another"}, nil
		}})
	d, _ := parse(t, "--format other --data x")
	if set, err := d.Open(""); err != nil || set.Name != "of another" {
		t.Errorf("%v, %v", set, err)
	}
}

// --nodes and --edges name two tables, and other flags their columns; a command's own --nodes keeps its values.
func TestTables(t *testing.T) {
	dir := shop(t)
	columns := " --id id --label x --drop label --types id=text --split-seed 2"
	d, notes := parse(t, "--nodes "+dir+"/nodes.csv --edges "+dir+"/edges.csv --drop label --label x")
	if _, err := d.Open("small"); err == nil || !strings.Contains(err.Error(), "no features among") {
		t.Errorf("no column is left: error %v\n%s", err, notes)
	}
	d, notes = parse(t, "--nodes "+dir+"/nodes.csv --edges "+dir+"/edges.csv --types x=category")
	set, err := d.Open("small")
	expect.OK(t, err)
	if set.Name != "nodes" || len(set.Columns) != 1 || !set.Columns[0].Categorical ||
		!strings.Contains(notes.String(), "Features by name: x (category).") {
		t.Errorf("%+v\n%s", set.Columns, notes)
	}

	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	size := flags.Int("nodes", 0, "synthetic nodes")
	d = Register(flags, "")
	if err := flags.Parse([]string{"--nodes", "70"}); err != nil || *size != 70 || d.Tables.Nodes != "" || !Own(flags) {
		t.Errorf("%d nodes, table %q: %v", *size, d.Tables.Nodes, err)
	}
	flags = pflag.NewFlagSet("test", pflag.ContinueOnError)
	size = flags.Int("nodes", 5, "synthetic nodes")
	d = Register(flags, "")
	if err := flags.Parse([]string{"--nodes", "users.csv"}); err != nil || *size != 5 || d.Tables.Nodes != "users.csv" ||
		Own(flags) {
		t.Errorf("%d nodes, table %q: %v", *size, d.Tables.Nodes, err)
	}
	for line, want := range map[string]string{
		"--nodes a.csv --nodes b.csv": "two tables of nodes",
		"--nodes users":               "invalid syntax",
	} {
		expect.Error(t, flags.Parse(strings.Fields(line)), want, "%q", line)
	}
	for line, want := range map[string]string{
		"--nodes a.csv":                                               "without --edges",
		"--edges a.csv":                                               "without a table --nodes",
		"--nodes a.csv --edges b.csv --data c":                        "want one data set",
		"--nodes a.csv --edges b.csv --format csv":                    "follows from its name",
		"--preset small" + columns:                                    "what columns of tables mean",
		"--nodes a.txt --edges " + dir + "/edges.csv":                 "a.txt",
		"--nodes " + dir + "/nodes.csv --edges " + dir + "/x.parquet": "x.parquet",
	} {
		d, _ := parse(t, line)
		expect.Error(t, expect.ErrorOf(d.Open("")), want, "%q", line)
	}
}
