package merge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"rivulet/dataset"
	"rivulet/dataset/parquet"
	"rivulet/dataset/sidecar"
	"rivulet/dataset/table"
	"rivulet/infer/target"
	"rivulet/internal/durable"
	"rivulet/schema"
	"rivulet/trainer/stage/partition"
)

// Files of a grown graph.
const (
	nodesFile    = "nodes.parquet"
	edgesFile    = "edges.parquet"
	labelledFile = "labelled.parquet"
	waitingFile  = "waiting.parquet"
	metaFile     = "tables.json"
)

// Tables is a graph of tables, which need not fit into memory.
type Tables struct {
	Stream  *table.Stream
	Classes []string

	schema      *schema.Schema // of the features' positions; nil: not known
	original    int64          // nodes of T
	fingerprint string         // SHA-256 of the content of the files
	dir         string         // of a grown graph's files; empty: these are a user's tables
}

// Name implements [Graph].
func (t *Tables) Name() string { return t.Stream.Name }

// Rename implements [Graph].
func (t *Tables) Rename(name string) { t.Stream.Name = name }

// Features implements [Graph].
func (t *Tables) Features() int { return t.Stream.Features }

// Schema implements [Graph].
func (t *Tables) Schema() *schema.Schema { return t.schema }

// Nodes implements [Graph].
func (t *Tables) Nodes() int { return int(t.original) }

// Fingerprint implements [Graph].
func (t *Tables) Fingerprint() string { return t.fingerprint }

func (t *Tables) form() form               { return form{} }
func (t *Tables) typed() bool              { return false }
func (t *Tables) answers() *answers        { return newAnswers(target.Classes, t.Classes) }
func (t *Tables) columns() []schema.Column { return nil }
func (t *Tables) rows() int64              { return t.Stream.Rows }
func (t *Tables) withoutRole() bool        { return false }

// mergeRoles maps roles in tables to roles here.
var mergeRoles = map[partition.Role]Role{partition.NoRole: None, partition.Train: Train,
	partition.Unlabelled: Unlabelled, partition.Validation: HeldOut, partition.Test: HeldOut}

func (t *Tables) eachNode(ctx context.Context, use func(id string, role Role, class int32) error) error {
	classes := map[string]int32{}
	for k, name := range t.Classes {
		classes[name] = int32(k)
	}
	return t.Stream.EachID(func(n table.Node) error {
		return errors.Join(every(ctx, n.Row), use(n.ID, mergeRoles[partition.RoleOf(n.Split)], classes[n.Label]))
	})
}

func (t *Tables) eachEdge(ctx context.Context, use func(source, target string, p property) error) error {
	return t.Stream.EachEdge(func(e table.Edge) error {
		return errors.Join(every(ctx, e.Row), use(e.Source, e.Target, 0))
	})
}

// meta is the form of tables.json.
type meta struct {
	Name     string          `json:"name"`
	Classes  []string        `json:"classes"`
	Original int64           `json:"nodes_of_t"`
	Schema   json.RawMessage `json:"schema,omitempty"`
}

// waitingRow is an edge that waits for the id at its other end.
type waitingRow struct {
	Node string `parquet:"node"`
	ID   string `parquet:"id"`
}

// labelledRow is a node whose class came from a label.
type labelledRow struct {
	ID string `parquet:"id"`
}

// Stored reports whether a directory holds a grown graph.
func Stored(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, metaFile))
	return dir != "" && err == nil
}

// Open opens a user's tables, and reads their ids, labels and split once.
func Open(ctx context.Context, s *table.Stream) (*Tables, error) {
	t := &Tables{Stream: s}
	sum := &partition.Summary{Labels: map[string]int64{}, Others: map[string]bool{}}
	err := s.EachID(func(n table.Node) error {
		switch partition.RoleOf(n.Split) {
		case partition.Train:
			sum.Labels[n.Label]++
			t.original++
		case partition.Unlabelled:
			t.original++
		case partition.Validation, partition.Test:
			sum.Others[n.Label] = true
		case partition.NoRole:
		}
		return every(ctx, n.Row)
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.Name, err)
	}
	t.Classes = sum.AllClasses(nil)
	return t, t.identify()
}

// OpenStored returns grown tables.
func OpenStored(dir string) (*Tables, error) {
	text, err := os.ReadFile(filepath.Join(dir, metaFile))
	if err != nil {
		return nil, err
	}
	var m meta
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, metaFile), err)
	}
	s, ok, err := dataset.OpenStream(dir, dataset.OpenOptions{Format: parquet.Format.Name,
		More: []dataset.Format{parquet.Format}})
	if err == nil && !ok {
		err = errors.New("want the tables that a refresh has written")
	}
	if err != nil {
		return nil, fmt.Errorf("graph in %s: %w", dir, err)
	}
	t := &Tables{Stream: s, Classes: m.Classes, original: m.Original, dir: dir}
	t.Stream.Name = m.Name
	if m.Schema != nil {
		if t.schema, err = schema.Parse(m.Schema); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, metaFile), err)
		}
	}
	return t, t.identify()
}

// identify sets the fingerprint, and the stream's identity by it: the same content is the same data set, whenever it
// was written.
func (t *Tables) identify() error {
	files := t.Stream.Files()
	if t.dir != "" {
		for _, name := range []string{labelledFile, waitingFile, metaFile} {
			files = append(files, filepath.Join(t.dir, name))
		}
	}
	all := sha256.New()
	for _, path := range files {
		one := sha256.New()
		f, err := os.Open(path)
		if err == nil {
			_, err = io.Copy(one, f)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(all, "%s %x\n", filepath.Base(path), one.Sum(nil))
	}
	t.fingerprint = hex.EncodeToString(all.Sum(nil))
	t.Stream.Identity = fmt.Sprintf("%s\n%s", t.fingerprint, t.Stream.Meaning())
	return nil
}

// eachWaiting calls use with the edges that wait, in the order in which they came.
func (t *Tables) eachWaiting(use func(node, id string, p property) error) error {
	return eachStored(t, waitingFile, func(w *waitingRow) error { return use(w.Node, w.ID, 0) })
}

// eachLabelled calls use with the nodes whose class came from a label.
func (t *Tables) eachLabelled(use func(id string) error) error {
	return eachStored(t, labelledFile, func(l *labelledRow) error { return use(l.ID) })
}

// eachStored calls use with the rows of a file of a grown graph; tables as a user has them have none.
func eachStored[Row any](t *Tables, name string, use func(*Row) error) error {
	if t.dir == "" {
		return nil
	}
	path := filepath.Join(t.dir, name)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := parquet.EachRow(f, use); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Save implements [Graph]: it moves a grown graph to a directory on the same file system.
func (t *Tables) Save(disk durable.Disk, dir string, more func(dir, fingerprint string) error) (Graph, error) {
	err := disk.Install(dir, func(staging string) error {
		if err := more(t.dir, t.fingerprint); err != nil {
			return err
		}
		if err := disk.SyncDir(t.dir); err != nil {
			return err
		}
		return disk.Rename(t.dir, staging)
	})
	if err != nil {
		return nil, err
	}
	return OpenStored(dir)
}

// Load returns grown tables in memory.
func (t *Tables) Load() (*dataset.Dataset, error) {
	d, err := dataset.Open(t.dir, dataset.OpenOptions{Format: parquet.Format.Name, More: []dataset.Format{parquet.Format}})
	if err != nil {
		return nil, err
	}
	index := make(map[string]int32, len(d.IDs))
	for i, id := range d.IDs {
		index[id] = int32(i)
	}
	if err := reclass(d, t.Classes); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(t.dir, metaFile), err)
	}
	d.Schema = t.schema
	err = t.eachLabelled(func(id string) error {
		d.Merged.Labelled = append(d.Merged.Labelled, index[id])
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(d.Merged.Labelled)
	return d, t.eachWaiting(func(node, id string, _ property) error {
		d.Merged.Waiting = append(d.Merged.Waiting, sidecar.NewWaiting(index, node, id))
		return nil
	})
}

// reclass numbers the classes of a data set by their names in another order.
func reclass(d *dataset.Dataset, classes []string) error {
	number := make([]int32, len(d.Classes))
	for k, name := range d.Classes {
		at := slices.Index(classes, name)
		if at < 0 {
			return fmt.Errorf("class %.100q of the nodes is not among the classes %.100q", name, classes)
		}
		number[k] = int32(at)
	}
	for i, y := range d.Labels {
		if y >= 0 {
			d.Labels[i] = number[y]
		}
	}
	d.Classes = classes
	return nil
}
