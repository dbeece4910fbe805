// Package build says which build of Rivulet this process is: its version, the commit and the Go version. [Release] is
// the version of the source. The Go toolchain writes the commit into the program; flags of the linker go before both,
// as in deploy/Dockerfile, which builds without the repository's history:
//
//	go build -ldflags "-X rivulet/internal/build.version=1.4.0 -X rivulet/internal/build.commit=3f9c1a2b" ./cmd/...
package build

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// Release is the version that the source is, or becomes next. The image, the Python package, the chart and the contract
// of the topics have the same one; a test holds them together.
const Release = "0.1.0"

// Set by the linker; empty: Release, and the commit that the toolchain wrote.
var version, commit string

// Unknown stands for a fact that neither the toolchain nor the linker has given.
const Unknown = "unknown"

// Info describes a build. No field is empty.
type Info struct {
	Version string
	Commit  string // with "+dirty" where the files differed from it
	Go      string // "go1.26.8"
}

// Read returns the description of this process's build.
func Read() Info {
	found, ok := debug.ReadBuildInfo()
	if !ok {
		found = &debug.BuildInfo{}
	}
	return read(found, version, commit)
}

// read puts the linker's flags before the toolchain's facts.
func read(found *debug.BuildInfo, version, commit string) Info {
	settings := map[string]string{}
	for _, s := range found.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision != "" && settings["vcs.modified"] == "true" {
		revision += "+dirty"
	}
	return Info{cmp.Or(version, Release), cmp.Or(commit, revision, Unknown),
		cmp.Or(found.GoVersion, Unknown)}
}

// String is the build on one line, as --version prints it.
func (i Info) String() string { return fmt.Sprintf("%s, commit %s, %s", i.Version, i.Commit, i.Go) }
