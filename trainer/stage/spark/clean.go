package spark

import (
	"context"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
)

// ofStage is a file of a stage in a working directory: its directory is "NAME-" and 32 hexadecimal digits.
var ofStage = regexp.MustCompile(`^(.*)/([A-Za-z0-9_]+-[0-9a-f]{32})/(rows|done)/[^/]+$`)

// Clean takes the rows of all stages from a working directory, finished or not. Directories that this machine sees are
// removed; in others a file of a few hundred bytes stays for each stage, as SQL removes none.
func Clean(ctx context.Context, r Runner, work string) error {
	work = strings.TrimRight(work, "/")
	if err := checkWork(work); err != nil {
		return fmt.Errorf("working directory of Spark: %w", err)
	}
	e := &Engine{Options: Options{Work: work, Partitions: 1}, runner: r, pending: settings(1)}
	found := map[string]bool{}
	for _, kind := range []string{"rows", "done"} {
		files, err := e.ask(ctx, "SELECT DISTINCT _metadata.file_path AS s FROM "+parquet(work+"/*/"+kind))
		if isMissing(err) {
			e.pending = settings(1)
			continue
		}
		if err != nil {
			return fmt.Errorf("cleaning %s: %w", work, words(err))
		}
		for _, file := range files {
			if parts := ofStage.FindStringSubmatch(file); parts != nil {
				found[parts[2]] = true
			}
		}
	}
	if len(found) == 0 {
		return fmt.Errorf("cleaning %s: no tables of a training run are there", work)
	}
	local, seen := strings.CutPrefix(work, "file:")
	seen = seen || strings.HasPrefix(work, "/")
	for name := range found {
		dir := path.Join("/", strings.TrimLeft(local, "/"), name)
		if _, err := os.Stat(dir); seen && err == nil {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			continue
		}
		if _, err := e.ask(ctx, "", e.unmarked(name), e.emptied(name)); err != nil {
			return fmt.Errorf("cleaning %s: %w", work, words(err))
		}
	}
	return nil
}
