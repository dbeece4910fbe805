package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"rivulet/infer"
	"rivulet/infer/propagation"
	"rivulet/infer/target"
)

// Attachments for which an artifact's M and tables can be made.
const (
	AttachFrozen = "frozen"
	AttachJoint  = "joint"
)

// encodeManifest returns a manifest as indented JSON, the same bytes for the same manifest.
func encodeManifest(m *Manifest) ([]byte, error) {
	data, err := json.Marshal(m, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	return append(data, '\n'), nil
}

// ParseManifest reads manifest.json and checks each field, and that the files which the format needs are listed.
// Fields that this build does not know are ignored; a format newer than [FormatVersion] is refused before anything
// else is checked.
func ParseManifest(data []byte) (*Manifest, error) {
	m, err := parseManifest(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	return m, nil
}

// openManifest is ParseManifest after comparing the text with its checksum. A newer format is reported before,
// because its checksum may be computed in another way.
func openManifest(text, sum []byte) (*Manifest, error) {
	err := checkFormat(text)
	if errors.Is(err, errNewer) {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if want := manifestSum(text); !bytes.Equal(sum, want) {
		return nil, fmt.Errorf("%s: SHA-256 is %.64s, %s says %.64q: changed or damaged", manifestFile, want,
			manifestSumFile, sum)
	}
	return ParseManifest(text)
}

// manifestSum returns the content of manifest.sha256.
func manifestSum(text []byte) []byte {
	return fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(text), manifestFile)
}

var errNewer = errors.New("use a newer build, and update consumers before trainers")

// checkFormat checks the format version only.
func checkFormat(data []byte) error {
	var format struct {
		Version *int `json:"format_version"`
	}
	if err := json.Unmarshal(data, &format); err != nil {
		return err
	}
	switch v := format.Version; {
	case v == nil:
		return errors.New("format_version is missing")
	case *v > FormatVersion:
		return fmt.Errorf("format_version is %d, this build reads up to %d: %w", *v, FormatVersion, errNewer)
	case *v < 1:
		return fmt.Errorf("format_version is %d, want 1 or more", *v)
	}
	return nil
}

func parseManifest(data []byte) (*Manifest, error) {
	if err := checkFormat(data); err != nil {
		return nil, err
	}
	if err := checkPresent(data, reflect.TypeFor[Manifest](), ""); err != nil {
		return nil, err
	}
	m := new(Manifest)
	if err := json.Unmarshal(data, m); errors.Is(err, target.ErrUnknown) {
		return nil, fmt.Errorf("%w: %w", err, errNewer)
	} else if err != nil {
		return nil, err
	}
	m.Created = m.Created.UTC()
	if err := ValidVersion(m.Version); err != nil {
		return nil, err
	}
	if err := m.validate(); err != nil {
		return nil, err
	}
	return m, m.validateFiles()
}

// checkPresent refuses data without a field of t that may not be omitted, at any depth; null counts as missing.
// place is the path of data, "" at the top.
func checkPresent(data jsontext.Value, t reflect.Type, place string) error {
	var items map[string]jsontext.Value
	switch t.Kind() {
	case reflect.Struct:
		if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) { // a time, a task
			return nil
		}
		return checkFields(data, t, place)
	case reflect.Map:
		if err := json.Unmarshal(data, &items); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
	case reflect.Slice:
		var list []jsontext.Value
		if err := json.Unmarshal(data, &list); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		items = make(map[string]jsontext.Value, len(list))
		for i, item := range list {
			items[strconv.Itoa(i)] = item
		}
	}
	for _, name := range slices.Sorted(maps.Keys(items)) {
		if err := checkPresent(items[name], t.Elem(), fmt.Sprintf("%s[%s]", place, name)); err != nil {
			return err
		}
	}
	return nil
}

func checkFields(data jsontext.Value, t reflect.Type, place string) error {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(data, &members); err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	if place != "" {
		place += "."
	}
	for i := range t.NumField() {
		name, option, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		value, ok := members[name]
		if !ok && option != "" { // omitempty, omitzero
			continue
		}
		if !ok || value.Kind() == 'n' {
			return fmt.Errorf("%s is missing", place+name)
		}
		if err := checkPresent(value, t.Field(i).Type, place+name); err != nil {
			return err
		}
	}
	return nil
}

// maxCount bounds the counts in a manifest: nodes are int32 columns.
const maxCount = math.MaxInt32

// validate checks all fields except FormatVersion, Version and Files.
func (m *Manifest) validate() error {
	switch {
	case m.Created.IsZero():
		return errors.New("created is zero")
	case m.CreatedBy == "":
		return errors.New("created_by is empty")
	case m.Method == "":
		return errors.New("method is empty")
	}
	if err := m.Data.Validate(); err != nil {
		return fmt.Errorf("data.%w", err)
	}
	if err := m.validateTask(); err != nil {
		return err
	}
	if m.Mapping.Rows != m.Data.Nodes {
		return fmt.Errorf("mapping.rows is %d, want data.nodes, which is %d", m.Mapping.Rows, m.Data.Nodes)
	}
	for _, count := range []struct {
		name             string
		value, low, high int
	}{
		{"synthetic_nodes", m.SyntheticNodes, 1, maxCount},
		{"mapping.entries", m.Mapping.Entries, 0, math.MaxInt},
		{"mapping.max_per_row", m.Mapping.MaxPerRow, 0, m.SyntheticNodes},
	} {
		if count.value < count.low || count.value > count.high {
			return fmt.Errorf("%s is %d, want %d to %d", count.name, count.value, count.low, count.high)
		}
	}
	if err := m.validateModels(); err != nil {
		return err
	}
	for i := range m.Metrics {
		if err := m.Metrics[i].validate(); err != nil {
			return fmt.Errorf("metrics[%d].%w", i, err)
		}
	}
	names := make([]string, len(m.Models))
	for k := range m.Models {
		names[k] = m.Models[k].Name
	}
	if err := m.Reference.Validate(names, len(m.Data.Classes)); err != nil {
		return fmt.Errorf("reference.%w", err)
	}
	return nil
}

var fingerprintPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Validate checks the facts of a data set. The error names the field.
func (d *Data) Validate() error {
	switch {
	case d.Name == "":
		return errors.New("name is empty")
	case !fingerprintPattern.MatchString(d.Fingerprint):
		return fmt.Errorf("fingerprint is %q, want sha256: and 64 hex digits", d.Fingerprint)
	case d.Nodes < 1 || d.Nodes > maxCount:
		return fmt.Errorf("nodes is %d, want 1 to %d", d.Nodes, maxCount)
	case d.Edges < 0:
		return fmt.Errorf("edges is %d, want 0 or more", d.Edges)
	case d.Features < 1 || d.Features > maxCount:
		return fmt.Errorf("features is %d, want 1 to %d", d.Features, maxCount)
	case len(d.Classes) == 0:
		return errors.New("classes is empty")
	}
	first := make(map[string]int, len(d.Classes))
	for i, name := range d.Classes {
		if name == "" || !utf8.ValidString(name) {
			return fmt.Errorf("classes[%d] is %q, want a name", i, name)
		}
		if k, twice := first[name]; twice {
			return fmt.Errorf("classes[%d] is %q, as is classes[%d]", i, name, k)
		}
		first[name] = i
	}
	return nil
}

func (m *Manifest) validateModels() error {
	if len(m.Models) == 0 {
		return errors.New("models is empty")
	}
	index := make(map[string]int, len(m.Models))
	for i := range m.Models {
		model := &m.Models[i]
		if err := model.validate(); err != nil {
			return fmt.Errorf("models[%d].%w", i, err)
		}
		if k, twice := index[model.Name]; twice {
			return fmt.Errorf("models[%d].name is %q, as is models[%d].name", i, model.Name, k)
		}
		index[model.Name] = i
	}
	if _, ok := index[m.DefaultModel]; !ok {
		return fmt.Errorf("default_model is %q, want one of %q", m.DefaultModel, slices.Sorted(maps.Keys(index)))
	}
	return nil
}

var modelPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

func (m *ModelInfo) validate() error {
	switch {
	case !modelPattern.MatchString(m.Name):
		return fmt.Errorf("name is %q, want 1 to 64 characters of a-z 0-9 _ -", m.Name)
	case m.Attachment != AttachFrozen && m.Attachment != AttachJoint:
		return fmt.Errorf("attachment is %q, want %q or %q", m.Attachment, AttachFrozen, AttachJoint)
	case m.FittedOn != "O" && m.FittedOn != "S":
		return fmt.Errorf("fitted_on is %q, want \"O\" or \"S\"", m.FittedOn)
	case !(m.WeightDecay >= 0) || math.IsInf(m.WeightDecay, 0):
		return fmt.Errorf("weight_decay is %v, want 0 or more", m.WeightDecay)
	case m.Hidden < 0 || m.Layers < 0 || m.Hops < 0:
		return fmt.Errorf("hidden is %d, layers %d and hops %d, want 0 or more", m.Hidden, m.Layers, m.Hops)
	}
	if err := m.Own.Exponents.Validate(); err != nil {
		return fmt.Errorf("own.exponents.%w", err)
	}
	if m.Own != (OwnInfo{}) && !m.Own.Answers() {
		return errors.New("own has no exponent above 0")
	}
	for kind, p := range m.Propagation {
		if !propagation.Known(kind) {
			return fmt.Errorf("propagation.%s is not known: %w", kind, errNewer)
		}
		c := infer.Calibration{Kind: kind, Alpha: p.Alpha, Gamma: p.Gamma, Temperature: p.Temperature}
		if err := c.Validate(); err != nil {
			return fmt.Errorf("propagation.%s: %w", kind, err)
		}
		if err := p.Confidence.Validate(); err != nil {
			return fmt.Errorf("propagation.%s.confidence.%w", kind, err)
		}
	}
	if err := m.Calibration.Confidence.Validate(); err != nil {
		return fmt.Errorf("calibration.confidence.%w", err)
	}
	c := infer.Calibration{Kind: m.Calibration.Kind, Temperature: m.Calibration.Temperature}
	if p, ok := m.Propagation[c.Kind]; ok {
		c.Alpha, c.Gamma = p.Alpha, p.Gamma
	} else if propagation.Known(c.Kind) {
		return fmt.Errorf("calibration.kind is %q, which propagation does not hold", c.Kind)
	}
	return c.Validate()
}

func (m *Metric) validate() error {
	switch {
	case m.Model == "":
		return errors.New("model is empty")
	case !slices.Contains([]string{"O->O", "O->S", "S->O", "S->S"}, m.Setting):
		return fmt.Errorf("setting is %q, want O->O, O->S, S->O or S->S", m.Setting)
	case m.Batch != "graph" && m.Batch != "node":
		return fmt.Errorf("batch is %q, want \"graph\" or \"node\"", m.Batch)
	case m.Calibration != propagation.None && !propagation.Known(m.Calibration):
		return fmt.Errorf("calibration is %q, want %s", m.Calibration, propagation.Choices())
	case !(m.Accuracy >= 0 && m.Accuracy <= 100):
		return fmt.Errorf("accuracy is %v, want 0 to 100", m.Accuracy)
	}
	return nil
}

// validateFiles checks the list of files itself; the files are compared with it on reading.
func (m *Manifest) validateFiles() error {
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		f := m.Files[name]
		sum, err := hex.DecodeString(f.SHA256)
		switch {
		case name == manifestFile || name == manifestSumFile || name != path.Clean(name) || strings.Contains(name, `\`) ||
			!filepath.IsLocal(filepath.FromSlash(name)):
			return fmt.Errorf("files has %q, want the name of a tensor file within the directory", name)
		case err != nil || len(sum) != sha256.Size || f.SHA256 != strings.ToLower(f.SHA256):
			return fmt.Errorf("files[%q].sha256 is %q, want 64 hex digits in lower case", name, f.SHA256)
		case f.Bytes < 0:
			return fmt.Errorf("files[%q].bytes is %d, want 0 or more", name, f.Bytes)
		}
	}
	for _, name := range requiredFiles(m) {
		if _, ok := m.Files[name]; !ok {
			return fmt.Errorf("files does not list %q", name)
		}
	}
	return m.validateParts()
}
