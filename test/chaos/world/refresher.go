package world

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"rivulet/test/harness"
)

// Refresher is a command line of a refresh, whose group and directories have its name. Started again after a kill, it
// goes on.
type Refresher struct {
	harness.Workshop
	Name  string
	Topic string // of arrivals
	Every time.Duration
	Said  harness.Transcript // what the program writes, its standard error too
}

// Round is the report that a refresh prints of a round.
type Round struct {
	Merged    struct{ Arrivals, Joined int }
	Nodes     int
	Artifact  string
	Version   string `json:"artifact_version"`
	Published bool
}

// Configure writes the program's configuration.
func (f *Refresher) Configure(brokers []string, redis string) error {
	return f.Write(f.Name+".yaml", fmt.Sprintf("kafka: {brokers: [\"%s\"]}\n%s", strings.Join(brokers, `", "`), redis))
}

// Start starts the program.
func (f *Refresher) Start() (*harness.Process, error) {
	return f.Workshop.Start(&f.Said, "trainer", "refresh", "--config", f.Path(f.Name+".yaml"), "--json", "--from",
		"kafka:"+f.Topic, "--group", f.Name, "--data", f.Path("data"), "--data-out", f.Path(f.Name+"-grown"), "--out",
		f.Path(f.Name+"-artifacts"), "--publish", "--max-drop", "100", "--keep", "-1", "--every", f.Every.String())
}

// Rounds returns the rounds that have ended.
func (f *Refresher) Rounds() (all []Round) {
	for line := range strings.Lines(f.Said.String()) {
		var r Round
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &r) == nil {
			all = append(all, r)
		}
	}
	return all
}

// Artifacts returns the directories of all artifacts, those of refreshes that were killed among them.
func (f *Refresher) Artifacts() ([]string, error) {
	all, err := filepath.Glob(f.Path(f.Name + "-artifacts/*/manifest.json"))
	for i, manifest := range all {
		all[i] = filepath.Dir(manifest)
	}
	return all, err
}
