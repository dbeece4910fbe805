package refresh

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"rivulet/artifact"
	"rivulet/internal/durable"
)

// Copies are the directories of many rounds: below Artifacts and Graphs each round has one of its own, both of the
// same name.
type Copies struct {
	Artifacts string
	Graphs    string // empty: graphs are not stored
	Keep      int    // newest ones that stay; below 0: all
	Disk      durable.Disk
}

// Form of a round's name, and how names look that [Copies] gives and may remove.
const nameForm = "20060102T150405.000Z"

var nameLooks = regexp.MustCompile(`^\d{8}T\d{6}\.\d{3}Z$`)

// Lock keeps other processes from the same copies until unlock is called, and removes directories that crashes have
// left half written or half removed.
func (c *Copies) Lock() (unlock func(), err error) {
	unlock = func() {}
	parent := cmp.Or(c.Graphs, c.Artifacts)
	if err := c.Disk.MkdirAll(parent); err != nil {
		return unlock, err
	}
	lock := flock.New(filepath.Join(parent, ".refresh.lock"))
	locked, err := lock.TryLock()
	switch {
	case err != nil:
		return unlock, fmt.Errorf("locking %s: %w", parent, err)
	case !locked:
		return unlock, fmt.Errorf("another refresh works in %s: give each one directories of its own", parent)
	}
	unlock = func() { _ = lock.Unlock() }
	for _, parent := range []string{c.Artifacts, c.Graphs} {
		entries, err := list(parent)
		for _, e := range entries {
			if name, _, found := strings.Cut(strings.TrimPrefix(e.Name(), "."), durable.Partial); found &&
				nameLooks.MatchString(name) {
				err = errors.Join(err, c.Disk.RemoveAll(filepath.Join(parent, e.Name())))
			}
		}
		if err != nil {
			unlock()
			return func() {}, err
		}
	}
	return unlock, nil
}

// list returns the entries of a directory, none if it is not there.
func list(dir string) ([]os.DirEntry, error) {
	if dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return entries, err
}

// Next returns the directories of a round that begins now; graph is empty if graphs are not stored.
func (c *Copies) Next(now time.Time) (artifact, graph string) {
	for ; ; now = now.Add(time.Millisecond) { // a clock may have been set back
		name := now.UTC().Format(nameForm)
		artifact = filepath.Join(c.Artifacts, name)
		if c.Graphs != "" {
			graph = filepath.Join(c.Graphs, name)
		}
		if !exists(artifact) && (graph == "" || !exists(graph)) {
			return artifact, graph
		}
	}
}

// Dirs returns the directories of all graphs, also of incomplete ones.
func (c *Copies) Dirs() (dirs []string, err error) {
	entries, err := list(c.Graphs)
	for _, e := range entries {
		if nameLooks.MatchString(e.Name()) {
			dirs = append(dirs, filepath.Join(c.Graphs, e.Name()))
		}
	}
	return dirs, err
}

// Prune removes the copies of old rounds and returns their directories. It keeps
//
//   - the Keep newest graphs, and so at least the one to go on from, and the artifacts of the same rounds;
//   - the Keep newest artifacts of rounds that have no graph, because they were refused or interrupted, unless a newer
//     round was kept;
//   - graphs and artifacts in the directories of used, and of the versions that version reports as used.
//
// Directories that no round has made stay.
func (c *Copies) Prune(used []string, version func(name string) bool) (removed []string, err error) {
	if c.Keep < 0 {
		return nil, nil
	}
	dirs, err := c.Dirs()
	if err != nil {
		return nil, err
	}
	type graph struct {
		name  string
		state *State
	}
	var graphs []graph
	for _, dir := range dirs {
		if state, found, err := readState(dir); err == nil && found {
			graphs = append(graphs, graph{filepath.Base(dir), state})
		}
	}
	slices.SortFunc(graphs, func(a, b graph) int {
		return cmp.Or(cmp.Compare(b.state.Round, a.state.Round), cmp.Compare(b.name, a.name))
	})
	kept := map[string]bool{}
	oldest := ""
	for k, g := range graphs {
		dir := filepath.Join(c.Graphs, g.name)
		if k < max(1, c.Keep) {
			oldest = g.name
		} else if !isOneOf(dir, used) && !version(g.state.Version) {
			if err := c.remove(dir); err != nil {
				return removed, err
			}
			removed = append(removed, dir)
			continue
		}
		kept[g.name] = true
	}
	artifacts, err := c.pruneArtifacts(kept, oldest, used, version)
	return append(removed, artifacts...), err
}

// pruneArtifacts removes artifacts of rounds that are not kept, except the newest that are not older than oldest.
func (c *Copies) pruneArtifacts(kept map[string]bool, oldest string, used []string,
	version func(name string) bool) (removed []string, err error) {
	entries, err := list(c.Artifacts)
	if err != nil {
		return nil, err
	}
	spare := max(1, c.Keep)
	for _, e := range slices.Backward(entries) { // by name, so the newest first
		dir := filepath.Join(c.Artifacts, e.Name())
		switch {
		case !nameLooks.MatchString(e.Name()) || kept[e.Name()]:
		case e.Name() >= oldest && spare > 0:
			spare--
		case isOneOf(dir, used) || version(versionOf(dir)):
		default:
			if err := c.remove(dir); err != nil {
				return removed, err
			}
			removed = append(removed, dir)
		}
	}
	return removed, nil
}

// versionOf returns the version of an artifact, empty if it cannot be read.
func versionOf(dir string) string {
	b, err := artifact.Read(dir)
	if err != nil {
		return ""
	}
	return b.Manifest.Version
}

// remove renames a directory before it removes it: no half of it can be taken for a whole.
func (c *Copies) remove(dir string) error {
	away := filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+durable.Partial+"old")
	if err := c.Disk.Rename(dir, away); err != nil {
		return err
	}
	return c.Disk.RemoveAll(away)
}

// isOneOf reports whether dir is one of some directories, by whatever name.
func isOneOf(dir string, others []string) bool {
	info, err := os.Stat(dir)
	return err == nil && slices.ContainsFunc(others, func(other string) bool {
		o, err := os.Stat(other)
		return err == nil && os.SameFile(info, o)
	})
}
