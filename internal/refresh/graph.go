package refresh

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"rivulet/dataset"
	"rivulet/internal/durable"
	"rivulet/kafka"
)

// Files beside the data set.
const (
	stateFile     = "refresh.json"
	publishedFile = "published.json" // there once the graph's artifact has been published
)

// State says which records of the stream a graph has, and which artifact was trained on it.
type State struct {
	Round int    `json:"round"` // refreshes since the data set that the first of them began with
	Name  string `json:"name"`  // of that data set
	Base  string `json:"base"`  // its fingerprint
	Data  string `json:"data"`  // fingerprint of the data set beside this file

	Topic string        `json:"topic,omitempty"` // of arrivals; empty: they came from a file
	Next  map[int]int64 `json:"next,omitempty"`  // offset of each partition before which the graph has all arrivals

	Artifact string `json:"artifact,omitempty"` // directory of the artifact, relative to this file's
	Version  string `json:"artifact_version,omitempty"`
}

// Graph is a graph that arrivals are merged into, with the state of its past rounds.
type Graph struct {
	*dataset.Dataset
	Dir       string // where it is stored; empty: nowhere
	State     State
	Published bool // its artifact has been published
}

// NewGraph returns a data set that was read from a directory (empty: it is stored nowhere), with the state that is
// stored beside it. The state of another graph is an error.
func NewGraph(dir string, d *dataset.Dataset) (*Graph, error) {
	fingerprint := d.Fingerprint()
	g := &Graph{Dataset: d, Dir: dir, State: State{Name: d.Name, Base: fingerprint, Data: fingerprint}}
	return g.known(fingerprint)
}

// NodesOfT returns the number of nodes that a model is trained on, N.
func (g *Graph) NodesOfT() int { return len(g.Train) + len(g.Unlabelled) }

// known adds the state that is stored beside the graph, whose fingerprint it must have.
func (g *Graph) known(fingerprint string) (*Graph, error) {
	dir := g.Dir
	if dir == "" {
		return g, nil
	}
	state, found, err := readState(dir)
	if err != nil || !found {
		return g, err
	}
	if state.Data != fingerprint {
		return nil, fmt.Errorf("%s is of a data set with fingerprint %s, and the one in %s has %s: its files were "+
			"changed, so that nobody knows "+
			"which arrivals it has; take another directory, or remove %s to read all arrivals again",
			filepath.Join(dir, stateFile), state.Data, dir, fingerprint, stateFile)
	}
	g.State = *state
	g.Name = state.Name
	g.Published = exists(filepath.Join(dir, publishedFile))
	return g, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// readState reads the state of a graph; not found: the directory has none, or is not there.
func readState(dir string) (s *State, found bool, err error) {
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	s = &State{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, false, fmt.Errorf("%s: %w", filepath.Join(dir, stateFile), err)
	}
	return s, true, nil
}

// Resume returns the graph to go on from: the newest one in dirs, or g itself if none of them is newer. dirs without
// a complete graph are passed over; a graph that did not begin with the same data set as g is an error.
func (g *Graph) Resume(dirs ...string) (*Graph, error) {
	newest, at := g.State, ""
	for _, dir := range dirs {
		s, found, err := readState(dir)
		switch {
		case err != nil:
			return nil, err
		case !found:
		case s.Base != g.State.Base && s.Base != g.State.Data:
			return nil, fmt.Errorf("the graph in %s began with a data set of fingerprint %s, and the one that is given now "+
				"(%s) has %s: "+
				"their arrivals and offsets do not belong together; give the data set that it began with, or another directory "+
				"for graphs",
				dir, s.Base, cmp.Or(g.Dir, "generated"), g.State.Base)
		case s.Round > newest.Round || (s.Round == newest.Round && at != "" && dir > at):
			newest, at = *s, dir
		}
	}
	if at == "" {
		return g, nil
	}
	d, err := dataset.Open(at, dataset.OpenOptions{Format: dataset.GraphSAINT})
	if err != nil {
		return nil, err
	}
	return NewGraph(at, d)
}

// Stored reports whether a directory holds a graph, which a refresh has completed.
func Stored(dir string) bool { return dir != "" && exists(filepath.Join(dir, stateFile)) }

// CheckTarget returns an error if a graph could not be stored in a directory, before long work on one; empty: none will
// be stored.
func CheckTarget(dir string) error {
	entries, err := list(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("storing the graph: %s is not empty (it has %s): choose another directory or remove it", dir,
			entries[0].Name())
	}
	return err
}

// Artifact returns the directory of the artifact that was trained on the graph, empty if there is none.
func (g *Graph) Artifact() string {
	if g.State.Artifact == "" || filepath.IsAbs(g.State.Artifact) {
		return g.State.Artifact
	}
	return filepath.Join(g.Dir, g.State.Artifact)
}

// partitions returns offsets of a topic by partition.
func partitions(next kafka.Offsets) map[int]int64 {
	byPartition := make(map[int]int64, len(next))
	for at, offset := range next {
		byPartition[at.Partition] = offset
	}
	return byPartition
}

// offsets returns how far the graph has read the stream.
func (s *State) offsets() kafka.Offsets {
	next := make(kafka.Offsets, len(s.Next))
	for p, offset := range s.Next {
		next[kafka.TopicPartition{Topic: s.Topic, Partition: p}] = offset
	}
	return next
}

// save stores the graph in g.Dir, which must not exist or be empty. When it returns, the graph and its name are
// durable.
func (g *Graph) save(disk durable.Disk) error {
	return disk.Install(g.Dir, func(dir string) error {
		if err := g.SaveOn(disk, dir); err != nil {
			return err
		}
		g.State.Data = g.Fingerprint()
		return writeJSON(disk, dir, stateFile, &g.State)
	})
}

// advance stores that the graph has all arrivals before other offsets, too.
func (g *Graph) advance(disk durable.Disk, next kafka.Offsets) error {
	g.State.Next = partitions(next)
	return writeJSON(disk, g.Dir, stateFile, &g.State)
}

// publish stores that the artifact has been published.
func (g *Graph) publish(disk durable.Disk) error {
	g.Published = true
	return writeJSON(disk, g.Dir, publishedFile, map[string]string{"artifact_version": g.State.Version})
}

// writeJSON writes one file of a directory; when it returns it is durable.
func writeJSON(disk durable.Disk, dir, name string, v any) error {
	err := disk.WriteFile(dir, name, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return disk.SyncDir(dir)
}
