package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"rivulet/dataset/file"
)

// Merged holds the open ends of arrivals that were merged into a data set: package merge goes on from them, so that it
// does not matter in how many parts the arrivals come.
type Merged struct {
	// Waiting are edges to ids that are no nodes of the data yet, in the order in which they came.
	Waiting []Waiting
	// Labelled are the nodes, ascending, whose class came from a label and may be changed by a later one.
	Labelled []int32
}

// Waiting is an edge with only one known end.
type Waiting struct {
	Node int32  `json:"node"`
	ID   string `json:"id"` // of the other end
}

func (m *Merged) empty() bool { return len(m.Waiting) == 0 && len(m.Labelled) == 0 }

// mergedJSON is the form of merged.json.
type mergedJSON struct {
	Waiting  []Waiting `json:"waiting"`
	Labelled []int32   `json:"labelled"`
}

func (d *Dataset) saveMerged(s saving) error {
	if d.Merged.empty() {
		return nil
	}
	if err := d.Merged.check(d); err != nil {
		return fmt.Errorf("%s: %w", mergedFile, err)
	}
	return s.file(mergedFile, func(w io.Writer) error { return json.NewEncoder(w).Encode(mergedJSON(d.Merged)) })
}

func loadMerged(dir string, d *Dataset) (m Merged, err error) {
	if _, err := os.Lstat(filepath.Join(dir, mergedFile)); file.Missing(err) {
		return m, nil
	}
	err = file.Read(dir, mergedFile, maxJSONBytes, func(f *os.File, _ int64) error {
		decoder := json.NewDecoder(f)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode((*mergedJSON)(&m)); err != nil {
			return err
		}
		if decoder.More() {
			return errors.New("content behind the JSON object")
		}
		return m.check(d)
	})
	if len(m.Waiting) == 0 {
		m.Waiting = nil
	}
	if len(m.Labelled) == 0 {
		m.Labelled = nil
	}
	return m, err
}

// check refuses nodes that the data do not have, ids that they do have, and classes of nodes that have none.
func (m *Merged) check(d *Dataset) error {
	known := make(map[string]bool, len(d.IDs))
	for _, id := range d.IDs {
		known[id] = true
	}
	for k, w := range m.Waiting {
		switch {
		case w.Node < 0 || int(w.Node) >= d.Nodes():
			return fmt.Errorf("waiting[%d].node is %d, want 0 to %d", k, w.Node, d.Nodes()-1)
		case w.ID == "" || !utf8.ValidString(w.ID):
			return fmt.Errorf("waiting[%d].id is %.100q, want an id in UTF-8", k, w.ID)
		case known[w.ID]:
			return fmt.Errorf("waiting[%d].id is %.100q, a node of the data: want one that is not there yet", k, w.ID)
		}
	}
	for k, i := range m.Labelled {
		switch {
		case k > 0 && i <= m.Labelled[k-1]:
			return fmt.Errorf("labelled[%d] is %d after %d, want ascending nodes", k, i, m.Labelled[k-1])
		case !in(d.Train, i):
			return fmt.Errorf("labelled[%d] is %d, no training node", k, i)
		}
	}
	return nil
}

// in reports whether an ascending list has a node.
func in(nodes []int32, i int32) bool {
	_, found := slices.BinarySearch(nodes, i)
	return found
}
