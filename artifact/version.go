package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"
)

var versionPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// ValidVersion checks a version's name, which becomes part of keys and file names.
func ValidVersion(version string) error {
	if !versionPattern.MatchString(version) {
		return fmt.Errorf("version %q is not 1 to 64 characters of A-Z a-z 0-9 . _ -", version)
	}
	return nil
}

// NewVersion names an artifact by its time and content, such as 20261121T053540Z-3f9c1a2b: names sort by time, to the
// second of UTC, and different contents of one second differ. files are by name relative to the directory, with a
// manifest.json that has no version yet.
func NewVersion(created time.Time, files map[string][]byte) string {
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum := sha256.Sum256(files[name])
		fmt.Fprintf(all, "%s\x00%x\x00", name, sum)
	}
	return created.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(all.Sum(nil)[:4])
}
