package pipe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"rivulet/trainer/stage"
)

// Job is a worker's task, as the JSON of a file that is sent along with it.
type Job struct {
	Stage   string            `json:"stage,omitempty"` // empty: the records of Files become output 0 as they are
	Options json.RawMessage   `json:"options,omitempty"`
	Sides   map[string]string `json:"sides,omitempty"` // file by side
	Outputs int               `json:"outputs"`
	Map     bool              `json:"map,omitempty"`
	Files   []string          `json:"files,omitempty"` // of records in their wire form
}

// ReadJob reads a job's file. Files that it names are in the same directory.
func ReadJob(file string) (Job, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Job{}, err
	}
	var j Job
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&j); err != nil {
		return Job{}, fmt.Errorf("job %s is not of this worker's build: %w", filepath.Base(file), err)
	}
	return j, nil
}

// function makes the stage's function.
func (j Job) function(dir string, registry stage.Registry) (stage.Function, error) {
	spec := stage.Spec{Name: j.Stage, Options: j.Options, Outputs: j.Outputs, Map: j.Map, Sides: stage.Sides{}}
	for side, name := range j.Sides {
		content, err := os.ReadFile(filepath.Join(dir, filepath.Base(name)))
		if err != nil {
			return nil, fmt.Errorf("side %s: %w", side, err)
		}
		spec.Sides[side] = content
	}
	return registry.New(spec)
}
