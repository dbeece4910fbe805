package refresh

import (
	"cmp"
	"os"
	"path/filepath"

	"rivulet/internal/durable"
)

// scratch makes the directory for the files of a round on a graph of tables, which has a name that [Copies.Lock]
// removes after a crash; empty: the round needs none.
func (r *Refresher) scratch(out, dataOut string) (string, error) {
	if r.Graph.data() != nil {
		return "", nil
	}
	beside := cmp.Or(dataOut, out)
	if beside == "" {
		return os.MkdirTemp("", "rivulet-refresh-*")
	}
	if err := r.Disk.MkdirAll(filepath.Dir(beside)); err != nil {
		return "", err
	}
	return os.MkdirTemp(filepath.Dir(beside), "."+filepath.Base(beside)+durable.Partial+"*")
}

// discard removes a round's own files, except the files of the graph that the next round goes on from.
func (r *Refresher) discard(round *Round) { r.remove(round.scratch) }

// Close removes the files of a graph that was not stored.
func (r *Refresher) Close() { r.remove(r.Graph.scratch) }

func (r *Refresher) remove(scratch string) {
	if scratch == "" {
		return
	}
	if err := r.Disk.RemoveAll(scratch); err != nil {
		r.Log.Warn("files of a refresh are left", "directory", scratch, "error", err)
	}
}
