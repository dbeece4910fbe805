package artifact

import (
	"fmt"
	"slices"
	"strings"

	"rivulet/artifact/safetensors"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
	"rivulet/schema"
)

// The files of an artifact, by name relative to its directory.
const (
	manifestFile    = "manifest.json"
	manifestSumFile = "manifest.sha256" // in the form of sha256sum
	syntheticFile   = "synthetic.safetensors"
	mappingFile     = "mapping.safetensors"
	growthFile      = "growth.safetensors" // optional
	mapFile         = "map.safetensors"    // optional
	schemaFile      = "schema.json"        // optional, a part that a reader must know
)

// optionalFiles are the files that [Read] reads if they are there. Only [ReadSpread] reads
// the other.
var optionalFiles = []string{growthFile, schemaFile, ownFile, edgesFile, candidatesFile, mapFile}

// trainerFiles are the files that the serving part leaves out: consumers do not read them whole.
var trainerFiles = []string{mappingFile, spreadFile}

// modelFile returns the name of the file with the weights and tables of one model.
func modelFile(name string) string { return "models/" + name + ".safetensors" }

// A tensor of a model's file belongs to a table if its name begins with one of these prefixes or with the one of a kind
// of propagation ([propagation.Kind.Prefix]). Every other tensor is a weight.
const (
	tablesPrefix   = "tables."
	featuresPrefix = "features."
)

// tensorFile is a file of tensors, with the visit of its fields.
type tensorFile struct {
	name   string
	there  bool // b has its part
	fields func(f *fields)
}

// tensorFiles lists the files of tensors that this build knows, parts of M left out.
func (b *Bundle) tensorFiles() []tensorFile {
	n, d, classes := b.Manifest.SyntheticNodes, b.Manifest.Data.Features, len(b.Manifest.Data.Classes)
	all := []tensorFile{
		{syntheticFile, true, b.syntheticFields},
		{mappingFile, b.Mapping != nil && !b.inParts(), func(f *fields) {
			visited(f, &b.Mapping).fields(f, b.Manifest.Mapping.Rows, n)
		}},
		{ownFile, b.Own != nil, b.ownFields},
		{candidatesFile, b.Candidates != nil, func(f *fields) { visited(f, &b.Candidates).fields(f, classes) }},
		{growthFile, b.Growth != nil, func(f *fields) { visited(f, &b.Growth).fields(f, n, b.Manifest.Models) }},
		{spreadFile, b.Spread != nil, func(f *fields) { visited(f, &b.Spread).fields(f, n, d, classes) }},
		{mapFile, b.Map != nil, func(f *fields) { visited(f, &b.Map).fields(f, n, classes) }},
	}
	for k := range b.Models {
		m := &b.Models[k]
		all = append(all, tensorFile{modelFile(m.Name), true, func(f *fields) { m.fields(f, b.tableRows()) }})
	}
	return all
}

// visited returns the part that is visited, a new one for a reader.
func visited[T any](f *fields, of **T) *T {
	if f.reading() {
		*of = new(T)
	}
	return *of
}

// encodeTensorFiles returns every file except the manifest; an optional file only if b has its part. b is valid.
func encodeTensorFiles(b *Bundle) (files map[string][]byte, err error) {
	files = map[string][]byte{}
	for _, file := range b.tensorFiles() {
		if !file.there {
			continue
		}
		if files[file.name], err = encodeFields(file.fields); err != nil {
			return nil, fmt.Errorf("%s: %w", file.name, err)
		}
	}
	if !b.Slots.Plain() {
		if files[edgesFile], err = encodeEdges(&b.Slots); err != nil {
			return nil, fmt.Errorf("%s: %w", edgesFile, err)
		}
	}
	if b.Schema != nil {
		if files[schemaFile], err = b.Schema.MarshalJSON(); err != nil {
			return nil, fmt.Errorf("%s: %w", schemaFile, err)
		}
	}
	return files, nil
}

// decodeTensorFile reads the named file into its part of b, whose manifest is valid. Only shapes and types are
// checked here. A file with a name that this build does not know is ignored. After an error b may have half a part.
func decodeTensorFile(b *Bundle, name string, data []byte) (err error) {
	switch name {
	case schemaFile:
		b.Schema, err = schema.Parse(data)
	case edgesFile:
		b.Slots, err = decodeEdges(data)
	default:
		files := b.tensorFiles()
		if at := slices.IndexFunc(files, func(f tensorFile) bool { return f.name == name }); at >= 0 {
			err = decodeFields(data, files[at].fields)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (b *Bundle) syntheticFields(f *fields) {
	m := &b.Manifest
	n, d := m.SyntheticNodes, m.Data.Features
	f.csr("adj.", "A', N'×N'", &b.Synthetic.Adj, n, n)
	f.dense("x", "X', N'×d, preprocessed features", &b.Synthetic.X, n, d)
	f.int32s("y", "Y', N', class indices", &b.Synthetic.Labels, n)
	if f.reading() {
		b.Preprocess = preprocess.Parameters{Kind: m.Preprocess.Kind, Scale: m.Preprocess.Scale}
	}
	if f.has("preprocess.mean", b.Preprocess.Mean != nil) {
		f.floats("preprocess.mean", "d, subtracted from the features", &b.Preprocess.Mean, d)
	}
	if f.has("preprocess.std", b.Preprocess.Std != nil) {
		f.floats("preprocess.std", "d, the features are divided by it", &b.Preprocess.Std, d)
	}
}

// fields visits the weights of a model, and its tables of so many rows.
func (m *Model) fields(f *fields, rows int) {
	if f.reading() {
		m.readParams(f)
	}
	for k := 0; f.set == nil && k < len(m.Params); k++ {
		f.dense(m.Params[k].Name, "weight, in×out", &m.Params[k].Value, anyLength, anyLength)
	}
	tableFields(f, tablesPrefix, "frozen table", &m.Tables, rows)
	for _, kind := range propagation.Kinds {
		t := m.Propagations[kind.Name]
		if tableFields(f, kind.Prefix(), kind.Title+"'s table", &t, rows); f.reading() {
			m.SetPropagation(kind.Name, t)
		}
	}
	tableFields(f, featuresPrefix, "preprocessed features' table", &m.Features, rows)
}

// readParams reads the weights in order of their names, and puts them into the architecture's own order.
func (m *Model) readParams(f *fields) {
	m.Params = nil
	for _, name := range f.names("") {
		if isTable(name) {
			continue
		}
		var value *graph.Dense
		f.dense(name, "", &value, anyLength, anyLength)
		m.Params = append(m.Params, infer.Param{Name: name, Value: value})
	}
	if !f.reading() {
		return
	}
	model, err := infer.Build(m.Name, m.Params)
	if err != nil {
		f.err = err
		return
	}
	m.Params = model.Params()
}

func isTable(name string) bool {
	return strings.HasPrefix(name, tablesPrefix) || strings.HasPrefix(name, featuresPrefix) ||
		slices.ContainsFunc(propagation.Kinds, func(k propagation.Kind) bool { return strings.HasPrefix(name, k.Prefix()) })
}

// tableFields visits u0, u1, … and c under a prefix; nil if there are none.
func tableFields(f *fields, prefix, what string, tables **infer.Tables, rows int) {
	if !f.hasGroup(prefix, *tables != nil) {
		return
	}
	t, known := visited(f, tables), []string(nil)
	for k := 0; ; k++ {
		name := fmt.Sprintf("%su%d", prefix, k)
		if f.reading() && (k == 0 || f.has(name, false)) {
			t.U = append(t.U, nil)
		}
		if k == len(t.U) {
			break
		}
		f.dense(name, what+" of that step, N'×width", &t.U[k], rows, anyLength)
		known = append(known, name)
	}
	if f.has(prefix+"c", t.C != nil) {
		f.dense(prefix+"c", "the way back i→j→i, N'×width", &t.C, rows, anyLength)
		known = append(known, prefix+"c")
	}
	for _, name := range f.names(prefix) {
		if !slices.Contains(known, name) {
			f.fail("tensor %q is unexpected after %su%d", name, prefix, len(t.U)-1)
		}
	}
}

// fields visits the rows of M, or some of them, and their ids.
func (m *Mapping) fields(f *fields, rows, synthetic int) {
	f.csr("", "M, N×N'", &m.Rows, rows, synthetic)
	f.ids(idsAbout, "the ids of M's rows, UTF-8, one after another", &m.IDs, rows)
}

// idsAbout describes the tensor with the ends of ids.
const idsAbout = "N+1: id i is ids.bytes[offsets[i]:offsets[i+1]]"

func decodeIDs(s safetensors.Set, rows int) ([]string, error) {
	offsets, err := s.Ints("ids.offsets", rows+1)
	if err != nil {
		return nil, err
	}
	raw, err := s.Bytes("ids.bytes")
	if err != nil {
		return nil, err
	}
	if offsets[0] != 0 || offsets[rows] != len(raw) {
		return nil, fmt.Errorf("ids.offsets run from %d to %d, want 0 to %d", offsets[0], offsets[rows], len(raw))
	}
	all := string(raw) // one allocation for all ids, which stay in memory together
	ids := make([]string, rows)
	for i := range ids {
		lo, hi := offsets[i], offsets[i+1]
		if lo > hi || hi > len(all) {
			return nil, fmt.Errorf("ids.offsets[%d] is %d after %d, of %d bytes", i+1, hi, lo, len(all))
		}
		ids[i] = all[lo:hi]
	}
	return ids, nil
}

// requiredFiles returns the files that a manifest of these models must list.
func requiredFiles(m *Manifest) []string {
	names := []string{syntheticFile, mappingFile}
	for _, model := range m.Models {
		names = append(names, modelFile(model.Name))
	}
	return names
}
