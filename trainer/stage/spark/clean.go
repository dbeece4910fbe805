package spark

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ofStage is a file of a stage in a working directory: its directory is "NAME-" and 32 hexadecimal digits.
var ofStage = regexp.MustCompile(`^(.*)/([A-Za-z0-9_]+-[0-9a-f]{32})/(rows-[0-9a-f]{16}|done)/[^/]+$`)

// ofRows is a directory of rows of a stage.
var ofRows = regexp.MustCompile(`^rows-[0-9a-f]{16}$`)

// Clean takes the rows of all stages from a working directory, finished or not. Directories that this machine sees are
// removed; in others a file of a few hundred bytes stays for each stage, as SQL removes none.
func Clean(ctx context.Context, r Runner, work string) error {
	work = strings.TrimRight(work, "/")
	if err := checkPath(work); err != nil {
		return fmt.Errorf("working directory of Spark: %w", err)
	}
	e := &Engine{Options: Options{Work: work, Partitions: 1}, runner: r, pending: settings(1)}
	found := map[string]string{} // the statement that empties a directory, by directory
	for _, kind := range []string{"rows-*", "done"} {
		files, err := e.ask(ctx, "SELECT DISTINCT _metadata.file_path AS s FROM "+parquet(work+"/*/"+kind))
		if isMissing(err) {
			e.pending = settings(1)
			continue
		}
		if err != nil {
			return fmt.Errorf("cleaning %s: %w", work, words(err))
		}
		for _, file := range files {
			parts := ofStage.FindStringSubmatch(file)
			switch {
			case parts == nil:
			case parts[3] == "done":
				found[parts[2]+"/done"] = e.unmarked(parts[2])
			default:
				found[parts[2]+"/"+parts[3]] = emptied(work + "/" + parts[2] + "/" + parts[3])
			}
		}
	}
	removed, err := removeLocal(work)
	if err != nil {
		return err
	}
	if len(found) == 0 && removed == 0 {
		return fmt.Errorf("cleaning %s: no tables of a training run are there", work)
	}
	if removed > 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(found)) { // done is before rows-…
		if _, err := e.ask(ctx, "", found[name]); err != nil {
			return fmt.Errorf("cleaning %s: %w", work, words(err))
		}
	}
	return nil
}

// stageDirectory is the name of a stage's directory.
var stageDirectory = regexp.MustCompile(`^[A-Za-z0-9_]+-[0-9a-f]{32}$`)

// removeLocal removes the directories of stages from a working directory, if this machine sees it, and counts them.
func removeLocal(work string) (int, error) {
	dir, ok := strings.CutPrefix(work, "file:")
	if !ok && !strings.HasPrefix(work, "/") {
		return 0, nil
	}
	dir = path.Join("/", dir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	removed := 0
	for _, entry := range entries {
		if stageDirectory.MatchString(entry.Name()) {
			err = errors.Join(err, os.RemoveAll(path.Join(dir, entry.Name())))
			removed++
		}
	}
	return removed, err
}
