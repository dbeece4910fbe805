package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"rivulet/artifact/baseline"
	"rivulet/infer/perceptron"
	"rivulet/infer/target"
)

// FormatVersion is the newest format that this build reads. It writes 2 where the artifact has a part that a reader
// must know, and else 1.
const FormatVersion = 2

// Manifest describes an artifact (manifest.json).
type Manifest struct {
	FormatVersion int       `json:"format_version"`
	Version       string    `json:"version"` // names the artifact in Redis and in predictions: [A-Za-z0-9._-]{1,64}
	Created       time.Time `json:"created"` // UTC
	CreatedBy     string    `json:"created_by"`
	Method        string    `json:"method"` // condensation method: "solved"
	Seed          uint64    `json:"seed"`

	Data           Data               `json:"data"`
	Task           target.Task        `json:"task,omitzero"`   // what is predicted; empty: classes
	SyntheticNodes int                `json:"synthetic_nodes"` // N'
	Mapping        MappingInfo        `json:"mapping"`
	Preprocess     PreprocessInfo     `json:"preprocess"`
	Models         []ModelInfo        `json:"models"`
	DefaultModel   string             `json:"default_model"`
	Metrics        []Metric           `json:"metrics"`
	Reference      baseline.Reference `json:"reference,omitzero"`
	MapIDs         bool               `json:"map_ids,omitzero"` // the map names the heaviest nodes of T
	// parts of format 2 without which the rest would be misread
	Requires []string        `json:"requires,omitempty"`
	Files    map[string]File `json:"files"` // by name relative to the directory
}

// Data describes the data that the artifact was trained on.
type Data struct {
	Name        string   `json:"name"`
	Fingerprint string   `json:"fingerprint"` // "sha256:…" over graph, features, labels and roles
	Nodes       int      `json:"nodes"`       // N
	Edges       int      `json:"edges"`       // undirected edges of T
	Features    int      `json:"features"`    // d
	Classes     []string `json:"classes"`     // names, by class index; of a task of numbers the outputs' names
}

// MappingInfo gives the size of M.
type MappingInfo struct {
	Rows      int `json:"rows"`        // N
	Entries   int `json:"entries"`     // non-zeros
	MaxPerRow int `json:"max_per_row"` // k
}

// PreprocessInfo names the preprocessing; its vectors are tensors.
type PreprocessInfo struct {
	Kind  string  `json:"kind"`
	Scale float32 `json:"scale"`
}

// ModelInfo is one model of the artifact.
type ModelInfo struct {
	Name        string  `json:"name"`
	Attachment  string  `json:"attachment"` // the attachment that tables and M were made for: "frozen" or "joint"
	FittedOn    string  `json:"fitted_on"`  // "O" (original graph) or "S" (synthetic graph)
	WeightDecay float64 `json:"weight_decay"`
	// width of the hidden layer that was fitted; 0: there is none, or the weights were imported
	Hidden int `json:"hidden,omitzero"`
	// number of layers that was fitted; 0: the fewest that the model has, or it was given
	Layers int `json:"layers,omitzero"`
	// K that was fitted; 0: the model's default, it has none, or it was given
	Hops        int             `json:"hops,omitzero"`
	Sample      int             `json:"sample,omitzero"` // nodes of T that the fit read; 0: all, or the weights were given
	Calibration CalibrationInfo `json:"calibration"`     // the choice of validation; the consumer's default
	// Propagation holds the parameters that validation chose for each kind of package propagation, whether or not it is
	// the default.
	Propagation map[string]PropagationInfo `json:"propagation,omitempty"`
	Own         OwnInfo                    `json:"own,omitzero"` // of the expert beside the model; zero: it answers alone
	// Radius is half the width of the interval of each output of a task of numbers, in which its number lies with a
	// probability of 90%; empty: the task is another one.
	Radius []float64 `json:"radius,omitempty"`
	// Temperatures has the temperature of each label, by which its logit is divided; empty: the task is not labels.
	Temperatures []float32 `json:"temperatures,omitempty"`
}

// OwnInfo describes how the perceptron of own features answers beside a model ([perceptron.Expert]), and what it
// gained on the validation nodes in points of accuracy: exponents of one half of the nodes were chosen on the other
// for that.
type OwnInfo struct {
	Exponents perceptron.Exponents `json:"exponents"`
	Gain      float64              `json:"gain"`       // of the nodes as they are
	GainAlone float64              `json:"gain_alone"` // of the nodes without their edges
}

// Answers reports whether there is an expert.
func (o OwnInfo) Answers() bool { return o.Exponents != perceptron.Exponents{} }

// CalibrationInfo describes how probabilities are made of the model's logits by default. Temperature and Confidence
// are for probabilities without propagation, whatever the kind.
type CalibrationInfo struct {
	Kind        string              `json:"kind"` // none, or a kind with the parameters that Propagation has
	Temperature float32             `json:"temperature"`
	Confidence  baseline.Confidence `json:"confidence,omitzero"`
}

// PropagationInfo are the hyperparameters of one kind of propagation, and the temperature and confidence that
// belong to them.
type PropagationInfo struct {
	Alpha       float32             `json:"alpha"`
	Gamma       float32             `json:"gamma"`
	Temperature float32             `json:"temperature"`
	Confidence  baseline.Confidence `json:"confidence,omitzero"`
}

// Metric is one measured figure, a row of the trainer's results.
type Metric struct {
	Model       string  `json:"model"`
	Setting     string  `json:"setting"` // "O->O", "O->S", "S->O", "S->S"
	SharedM     bool    `json:"shared_m"`
	Own         bool    `json:"own,omitzero"`    // an expert of own features answers beside the model
	Labels      bool    `json:"labels,omitzero"` // S->S, fitted to soft labels of S
	Batch       string  `json:"batch"`           // "graph" or "node"
	Calibration string  `json:"calibration"`
	Accuracy    float64 `json:"accuracy"` // percent, test nodes; 0 of a task other than classes
	// R2 is the mean R² of the outputs of a task of numbers, in percent; nil: the task is another one.
	R2 *float64 `json:"r2,omitempty"`
	// MRR is the mean reciprocal rank of held-out neighbours, in percent, of a task of links; nil: the task is another
	// one.
	MRR *float64 `json:"mrr,omitempty"`
	// MicroF1 and MAP (mean average precision) are of a task of labels, in percent; nil: the task is another one.
	MicroF1 *float64 `json:"micro_f1,omitempty"`
	MAP     *float64 `json:"map,omitempty"`
}

// figures are the places of the figures that a task may have, by their names in JSON. accuracy is always there.
func (m *Metric) figures() map[string]**float64 {
	return map[string]**float64{"r2": &m.R2, "mrr": &m.MRR, "micro_f1": &m.MicroF1, "map": &m.MAP}
}

// Set sets the figure of a name: accuracy, or one of a task.
func (m *Metric) Set(name string, value float64) {
	if name == "accuracy" {
		m.Accuracy = value
		return
	}
	at, ok := m.figures()[name]
	if !ok {
		panic(fmt.Sprintf("artifact: a manifest has no place for the figure %s", name))
	}
	*at = &value
}

// Figure returns the figure of a name, 0 if the metric does not have it.
func (m *Metric) Figure(name string) float64 {
	if name == "accuracy" {
		return m.Accuracy
	}
	if at := m.figures()[name]; at != nil && *at != nil {
		return **at
	}
	return 0
}

// File is the size and checksum of one file.
type File struct {
	SHA256 string `json:"sha256"` // hex
	Bytes  int64  `json:"bytes"`
}

// ServingFiles returns the names of the files that [ReadServing] reads: S and the models, but not M or the manifest.
func (m *Manifest) ServingFiles() []string {
	return slices.DeleteFunc(append(requiredFiles(m), optionalFiles...), func(name string) bool {
		_, listed := m.Files[name]
		return !listed || slices.Contains(trainerFiles, name)
	})
}

// MappingContent returns the checksums of M's files: artifacts in which they are the same have the same M.
func (m *Manifest) MappingContent() string {
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		if name == mappingFile || isPart(name) {
			sums.WriteString(name + " " + m.Files[name].SHA256 + "\n")
		}
	}
	return sums.String()
}

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
