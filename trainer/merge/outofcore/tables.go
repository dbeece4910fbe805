package outofcore

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
	"rivulet/durable"
	"rivulet/schema"
	"rivulet/trainer/stage/solved"
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
	Stream  *dataset.Stream
	Classes []string
	// Schema says what the features' positions mean; nil: nothing is known of it.
	Schema *schema.Schema
	// Original is the number of nodes of T.
	Original int64
	// Fingerprint is the SHA-256 of the content of the files.
	Fingerprint string

	dir string // of a grown graph's files; empty: these are tables as a user has them
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

// Open returns tables as a user has them, of which it reads ids, labels and split once.
func Open(ctx context.Context, s *dataset.Stream) (*Tables, error) {
	t := &Tables{Stream: s}
	sum := &solved.Summary{Labels: map[string]int64{}, Others: map[string]bool{}}
	err := s.EachID(func(n dataset.StreamNode) error {
		switch solved.RoleOf(n.Split) {
		case solved.Train:
			sum.Labels[n.Label]++
			t.Original++
		case solved.Unlabelled:
			t.Original++
		case solved.Validation, solved.Test:
			sum.Others[n.Label] = true
		case solved.NoRole:
		}
		return every(ctx, n.Row)
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.Name, err)
	}
	t.Classes = sum.AllClasses(nil)
	return t, t.identify()
}

// every returns the error of ctx, which it looks at for some rows only.
func every(ctx context.Context, row int64) error {
	if row%4096 != 0 {
		return nil
	}
	return ctx.Err()
}

// OpenStored returns a grown graph.
func OpenStored(dir string) (*Tables, error) {
	text, err := os.ReadFile(filepath.Join(dir, metaFile))
	if err != nil {
		return nil, err
	}
	var m meta
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, metaFile), err)
	}
	s, ok, err := dataset.OpenStream(dir, dataset.OpenOptions{Format: parquet.Format.Name, More: []dataset.Format{parquet.Format}})
	if err == nil && !ok {
		err = errors.New("want the tables that a refresh has written")
	}
	if err != nil {
		return nil, fmt.Errorf("graph in %s: %w", dir, err)
	}
	t := &Tables{Stream: s, Classes: m.Classes, Original: m.Original, dir: dir}
	t.Stream.Name = m.Name
	if m.Schema != nil {
		if t.Schema, err = schema.Parse(m.Schema); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, metaFile), err)
		}
	}
	return t, t.identify()
}

// identify sets the fingerprint, and the stream's identity by it: the same content is the same data set, whenever it was
// written.
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
	t.Fingerprint = hex.EncodeToString(all.Sum(nil))
	t.Stream.Identity = fmt.Sprintf("%s\n%s", t.Fingerprint, t.Stream.Meaning())
	return nil
}

// eachWaiting calls use with the edges that wait, in the order in which they came.
func (t *Tables) eachWaiting(use func(*waitingRow) error) error {
	return eachStored(t, waitingFile, use)
}

// eachLabelled calls use with the nodes whose class came from a label.
func (t *Tables) eachLabelled(use func(*labelledRow) error) error {
	return eachStored(t, labelledFile, use)
}

func eachStored[Row any](t *Tables, name string, use func(*Row) error) error {
	if t.dir == "" {
		return nil
	}
	return eachRow(filepath.Join(t.dir, name), use)
}

// Install moves a grown graph to a directory, which must not exist or be empty, on the same file system. more writes
// files beside the tables. When it returns, all is durable, and the graph is there or not at all. It returns the graph
// at its new place.
func (t *Tables) Install(disk durable.Disk, dir string, more func(dir string) error) (*Tables, error) {
	err := disk.Install(dir, func(staging string) error {
		if err := more(t.dir); err != nil {
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

// Load returns a grown graph in memory.
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
	d.Schema = t.Schema
	err = t.eachLabelled(func(l *labelledRow) error {
		d.Merged.Labelled = append(d.Merged.Labelled, index[l.ID])
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(d.Merged.Labelled)
	return d, t.eachWaiting(func(w *waitingRow) error {
		d.Merged.Waiting = append(d.Merged.Waiting, dataset.Waiting{Node: index[w.Node], ID: w.ID})
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
