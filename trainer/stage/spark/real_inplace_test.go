package spark_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/parquet"
	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/test/expect"
	"rivulet/trainer"
	"rivulet/trainer/original"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/spark"
	"rivulet/trainer/stage/spark/connect"
)

// Columns whose names try to leave the quotes of SQL, and the comments and ends of statements that spark-sql looks for.
const (
	hostileID    = "user's id; -- \"x\" /* `q"
	hostileFloat = `a.b \' ${env:HOME}`
	hostileEnd   = "from`; SELECT 1; --"
)

// tablesOf says what the columns of the tables of [written] mean.
func tablesOf(nodes, edges string) table.Settings {
	return table.Settings{Nodes: table.NodesPath(nodes), Edges: edges, ID: hostileID, Label: "churned", Split: "fold",
		Source:      hostileEnd,
		Drop:        []string{"left"},
		SplitValues: map[string]string{"0": "train", "1": "val", "2": "test", "3": "unlabelled"}, Positional: true}
}

// quotedName is the name of a column in SQL.
func quotedName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// written has Spark write a data set as Parquet, nodes and edges in a few files each: ids are integers in the one and
// text in the other, and features are of all types of numbers, or lists.
func written(t *testing.T, a connect.Address, d *dataset.Dataset, dir string, lists bool) {
	t.Helper()
	raw := t.TempDir()
	folds := map[string]int{"train": 0, "val": 1, "test": 2, "unlabelled": 3}
	lines := func(name string, rows func(put func(any))) string {
		var b strings.Builder
		rows(func(row any) {
			text, err := json.Marshal(row)
			expect.OK(t, err)
			b.Write(append(text, '\n'))
		})
		file := filepath.Join(raw, name)
		expect.OK(t, os.WriteFile(file, []byte(b.String()), 0o600))
		return file
	}
	number := map[string]int{}
	nodes := lines("nodes.json", func(put func(any)) {
		for n := range d.NodeRows() {
			number[n.ID] = len(number) * 7
			row := map[string]any{hostileID: number[n.ID], "x": n.Features, "fold": folds[n.Split], "churned": n.Label}
			if n.Label == "" {
				row["churned"] = nil
			}
			put(row)
		}
	})
	edges := lines("edges.json", func(put func(any)) {
		for source, target := range d.EdgeRows() {
			put(map[string]any{hostileEnd: fmt.Sprint(number[source]), "target": number[target], "weight": 1})
		}
	})
	features := "CAST(x AS ARRAY<FLOAT>) AS features"
	if !lists {
		types := []string{"FLOAT", "DOUBLE", "DECIMAL(18, 6)", "DECIMAL(9, 0)", "STRING", "INT", "TINYINT"}
		var columns []string
		for k := range d.X.Cols() {
			columns = append(columns, fmt.Sprintf("CAST(x[%d] AS %s) AS %s", k, types[k%len(types)],
				quotedName(fmt.Sprintf("%s%d", []string{"x", "X"}[k%2], k/2))))
		}
		features = strings.Join(columns, ", ") + ", x[0] > 0.5 AS yes, CAST(x[1] AS FLOAT) AS " + quotedName(hostileFloat)
	}
	session := connect.New(a, nil)
	defer func() { _ = session.Close(context.WithoutCancel(t.Context())) }()
	for _, statement := range []string{
		"SET spark.sql.caseSensitive=true",
		"SET spark.sql.variable.substitute=false",
		fmt.Sprintf("INSERT OVERWRITE DIRECTORY %q USING parquet SELECT /*+ REPARTITION(3) */ %s, "+
			"current_timestamp() AS left, fold, churned, %s FROM json.`%s`",
			dir+"/nodes", quotedName(hostileID), features, nodes),
		fmt.Sprintf("INSERT OVERWRITE DIRECTORY %q USING parquet SELECT /*+ REPARTITION(2) */ %s, target, weight "+
			"FROM json.`%s`", dir+"/edges", quotedName(hostileEnd), edges),
	} {
		expect.OK(t, session.Exec(t.Context(), statement, func(int64, int64, int64) {}))
	}
}

// inPlaceOptions are without LP and EP, whose stages do not read tables.
func inPlaceOptions() trainer.Options {
	o := options()
	o.Propagate = false
	return o
}

// trainTables writes the artifact of a run on tables, and returns its directory.
func trainTables(t *testing.T, e stage.Engine, rows original.RowData) string {
	t.Helper()
	out, err := trainer.TrainStaged(context.Background(), e, rows, inPlaceOptions(), created, trainer.Silent{})
	expect.OK(t, err)
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, out.Bundle))
	return dir
}

// read are the tables in files, as the trainer reads them.
func read(t *testing.T, dir string) original.RowData {
	t.Helper()
	s, ok, err := dataset.OpenStream("", dataset.OpenOptions{More: []dataset.Format{parquet.Format},
		Tables: tablesOf(dir+"/nodes", dir+"/edges")})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return original.OfStream(s)
}

// inPlace are the same tables where Spark reads them.
func inPlace(t *testing.T, e stage.Engine, dir string) original.RowData {
	t.Helper()
	s, err := original.InPlace(t.Context(), e, "nodes", tablesOf("file:"+dir+"/nodes", "file:"+dir+"/edges"))
	expect.OK(t, err)
	if s.Nodes.Rows != nil || s.Edges.Rows != nil {
		t.Error("the rows would be sent")
	}
	return s
}

// Tables that Spark reads where they lie give the bytes that the trainer gives of the same files. A second run finds
// every stage.
func TestSparkReadsTablesInPlace(t *testing.T) {
	a := realSpark(t)
	dir, work, w := filepath.Join(t.TempDir(), "it's %20 $HOME shop"), t.TempDir(), workers(t)
	written(t, a, generated(t), dir, false)
	want := trainTables(t, local.NewMemory(solved.Functions, trainer.Silent{}), read(t, dir))
	for _, name := range []string{"first", "again"} {
		e := open(t, spark.Connect(connect.New(a, nil)), work, 3, w)
		sameFiles(t, want, trainTables(t, e, inPlace(t, e, dir)))
		if (e.Ran == 0) != (name == "again") {
			t.Errorf("%s: %d stages ran, %d were there", name, e.Ran, e.Found)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Features in lists give the tables of the graph that the trainer gives. Of a table that has changed, the stages are
// run again, and of the other they are found.
func TestSparkReadsListsInPlace(t *testing.T) {
	a := realSpark(t)
	dir, other, d := t.TempDir(), t.TempDir(), generated(t)
	written(t, a, d, dir, true)
	e := open(t, spark.Connect(connect.New(a, nil)), t.TempDir(), 2, workers(t))
	sameGraph(t, e, dir)
	if e.Ran != 6 || e.Found != 0 {
		t.Errorf("%d stages ran, and %d were found", e.Ran, e.Found)
	}
	d.Adj = without(d.Adj, 0)
	written(t, a, d, other, true)
	expect.OK(t, errors.Join(os.RemoveAll(dir+"/edges"), os.Rename(other+"/edges", dir+"/edges")))
	sameGraph(t, e, dir)
	if e.Ran != 10 || e.Found != 2 {
		t.Errorf("of the table of edges that has changed, %d stages ran, and %d were found", e.Ran-6, e.Found)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// The program spark-sql reads the same tables, whatever their columns are called.
func TestSparkSQLReadsTablesInPlace(t *testing.T) {
	a := realSpark(t)
	program := filepath.Join(sparkDir(t), "spark-sql")
	dir := filepath.Join(t.TempDir(), "it's -- %20 $HOME shop")
	written(t, a, generated(t), dir, false)
	r, err := spark.Command(program)
	expect.OK(t, err)
	e := open(t, r, t.TempDir(), 2, workers(t))
	sent, placed := read(t, dir), inPlace(t, e, dir)
	here := local.NewMemory(solved.Functions, trainer.Silent{})
	want, got := features(t, here, sent.Nodes), features(t, e, placed.Nodes)
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("features of %d blocks (-want +got):\n%.2000s", len(want), diff)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// features are the blocks of features of a table of nodes.
func features(t *testing.T, e stage.Engine, nodes stage.Source) []stage.Record {
	t.Helper()
	var sides stage.Sides
	if nodes.InPlace != nil {
		sides = stage.Sides{partition.SideForm: nodes.Form}
	}
	scan := stage.NewSpec(partition.StageNodes, partition.BlockOptions{Blocks: 4}, sides, 1)
	scan.Map = true
	rows, err := e.Scan(t.Context(), scan, nodes)
	expect.OK(t, err)
	made, err := e.Run(t.Context(), stage.NewSpec(partition.StageBlocks, partition.BlockOptions{Blocks: 4}, nil, 5),
		rows...)
	expect.OK(t, err)
	return records(t, e, made[partition.OutFeatures])
}

// without returns a graph without the edges of a node.
func without(adj *graph.CSR, node int32) *graph.CSR {
	out := &graph.CSR{Rows: adj.Rows, Cols: adj.Cols, RowPtr: []int{0}}
	for i := range adj.Rows {
		cols, _ := adj.Row(i)
		for _, j := range cols {
			if int32(i) != node && j != node {
				out.ColIdx = append(out.ColIdx, j)
			}
		}
		out.RowPtr = append(out.RowPtr, len(out.ColIdx))
	}
	return out
}

// sameGraph fails unless tables in place become those that they become in memory.
func sameGraph(t *testing.T, e stage.Engine, dir string) {
	t.Helper()
	here := local.NewMemory(solved.Functions, trainer.Silent{})
	sent, placed := read(t, dir), inPlace(t, e, dir)
	if sent.Count != placed.Count || sent.Features != placed.Features || sent.Features == 0 {
		t.Errorf("%d nodes of %d features in place, want %d of %d", placed.Count, placed.Features, sent.Count, sent.Features)
	}
	want, err1 := partition.Read(t.Context(), here, sent.Nodes, sent.Edges, partition.BlockOptions{Blocks: 4})
	got, err2 := partition.Read(t.Context(), e, placed.Nodes, placed.Edges, partition.BlockOptions{Blocks: 4})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	for _, pair := range [][2]stage.Table{{want.Names, got.Names}, {want.Features, got.Features},
		{want.HeldFeatures, got.HeldFeatures},
		{want.Tiles, got.Tiles}, {want.Degrees, got.Degrees}} {
		expect.Same(t, records(t, here, pair[0]), records(t, e, pair[1]), "%s", pair[0].Name)
	}
}

func records(t *testing.T, e stage.Engine, table stage.Table) []stage.Record {
	t.Helper()
	var all []stage.Record
	for r, err := range e.Read(t.Context(), table) {
		expect.OK(t, err)
		all = append(all, stage.Record{Key: r.Key, Order: append([]byte{}, r.Order...),
			Payload: append([]byte{}, r.Payload...)})
	}
	return all
}
