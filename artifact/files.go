package artifact

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rivulet/artifact/safetensors"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
)

// The files of an artifact, by name relative to its directory.
const (
	manifestFile    = "manifest.json"
	manifestSumFile = "manifest.sha256" // in the form of sha256sum
	syntheticFile   = "synthetic.safetensors"
	mappingFile     = "mapping.safetensors"
	growthFile      = "growth.safetensors" // optional
	meansFile       = "means.safetensors"  // optional
	mapFile         = "map.safetensors"    // optional
	schemaFile      = "schema.json"        // optional, a part that a reader must know
)

// optionalFiles are the files that [Read] reads if they are there. Only [ReadMeans] and [ReadSpread]
// read the others.
var optionalFiles = []string{growthFile, schemaFile, ownFile, binsFile, directionsFile, edgeTypesFile, candidatesFile,
	mapFile}

// trainerFiles are the files that the serving part leaves out: consumers do not read them whole.
var trainerFiles = []string{mappingFile, meansFile, spreadFile}

// modelFile returns the name of the file with the weights and tables of one model.
func modelFile(name string) string { return "models/" + name + ".safetensors" }

// A tensor of a model's file belongs to a table if its name begins with one of these prefixes or with the one of a kind
// of propagation ([propagation.Kind.Prefix]). Every other tensor is a weight.
const (
	tablesPrefix   = "tables."
	featuresPrefix = "features."
)

// encodeTensorFiles returns every file except the manifest; an optional file only if b has its part. b is valid.
func encodeTensorFiles(b *Bundle) (map[string][]byte, error) {
	tensors := map[string][]safetensors.Tensor{syntheticFile: syntheticTensors(b)}
	for _, m := range b.Models {
		tensors[modelFile(m.Name)] = modelTensors(m)
	}
	if b.Mapping != nil && !b.inParts() {
		tensors[mappingFile] = mappingTensors(b.Mapping)
	}
	if b.Own != nil {
		tensors[ownFile] = ownTensors(b.Own)
	}
	if b.Bins != nil {
		switch part(b.Bins) {
		case binsFile:
			tensors[binsFile] = binsTensors(b.Bins)
		case directionsFile:
			tensors[directionsFile] = directionsTensors(b.Bins)
		}
	}
	if b.Candidates != nil {
		tensors[candidatesFile] = candidatesTensors(b.Candidates)
	}
	if b.Growth != nil {
		tensors[growthFile] = growthTensors(b.Growth)
	}
	if b.Means != nil {
		tensors[meansFile] = meansTensors(b.Means)
	}
	if b.Spread != nil {
		tensors[spreadFile] = spreadTensors(b.Spread)
	}
	if b.Map != nil {
		tensors[mapFile] = mapTensors(b.Map)
	}
	files := make(map[string][]byte, len(tensors))
	for name, of := range tensors {
		data, err := safetensors.Encode(of)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = data
	}
	if b.Bins != nil && part(b.Bins) == edgeTypesFile {
		data, err := encodeEdgeTypes(b.Bins)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", edgeTypesFile, err)
		}
		files[edgeTypesFile] = data
	}
	if b.Schema != nil {
		data, err := b.Schema.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", schemaFile, err)
		}
		files[schemaFile] = data
	}
	return files, nil
}

func syntheticTensors(b *Bundle) []safetensors.Tensor {
	tensors := safetensors.CSR("adj.", "A', N'×N'", b.Synthetic.Adj)
	tensors = append(tensors, safetensors.Dense("x", "X', N'×d, preprocessed features", b.Synthetic.X),
		safetensors.Int32s("y", "Y', N', class indices", b.Synthetic.Labels))
	if mean := b.Preprocess.Mean; mean != nil {
		tensors = append(tensors, safetensors.Float32s("preprocess.mean", "d, subtracted from the features", mean, len(mean)))
	}
	if std := b.Preprocess.Std; std != nil {
		tensors = append(tensors, safetensors.Float32s("preprocess.std", "d, the features are divided by it", std, len(std)))
	}
	return tensors
}

func decodeSynthetic(b *Bundle, s safetensors.Set) (err error) {
	m := &b.Manifest
	n, d := m.SyntheticNodes, m.Data.Features
	if b.Synthetic.Adj, err = s.CSR("adj.", n, n); err != nil {
		return err
	}
	if b.Synthetic.X, err = s.Dense("x", n, d); err != nil {
		return err
	}
	if b.Synthetic.Labels, err = s.Int32s("y", n); err != nil {
		return err
	}
	b.Preprocess = preprocess.Parameters{Kind: m.Preprocess.Kind, Scale: m.Preprocess.Scale}
	if _, ok := s["preprocess.mean"]; ok {
		if b.Preprocess.Mean, err = s.Float32s("preprocess.mean", d); err != nil {
			return err
		}
	}
	if _, ok := s["preprocess.std"]; ok {
		b.Preprocess.Std, err = s.Float32s("preprocess.std", d)
	}
	return err
}

func modelTensors(m Model) []safetensors.Tensor {
	var tensors []safetensors.Tensor
	for _, p := range m.Params {
		tensors = append(tensors, safetensors.Dense(p.Name, "weight, in×out", p.Value))
	}
	type group struct {
		prefix, what string
		tables       *infer.Tables
	}
	groups := []group{{tablesPrefix, "frozen table", m.Tables}}
	for _, kind := range propagation.Kinds {
		groups = append(groups, group{kind.Prefix(), kind.Title + "'s table", m.Propagations[kind.Name]})
	}
	for _, of := range append(groups, group{featuresPrefix, "preprocessed features' table", m.Features}) {
		if of.tables == nil {
			continue
		}
		for t, u := range of.tables.U {
			tensors = append(tensors, safetensors.Dense(fmt.Sprintf("%su%d", of.prefix, t), of.what+" of that step, N'×width",
				u))
		}
		if c := of.tables.C; c != nil {
			tensors = append(tensors, safetensors.Dense(of.prefix+"c", "the way back i→j→i, N'×width", c))
		}
	}
	return tensors
}

func decodeModel(m *Model, s safetensors.Set, synthetic int) (err error) {
	params, err := decodeParams(s)
	if err != nil {
		return err
	}
	model, err := infer.Build(m.Name, params)
	if err != nil {
		return err
	}
	m.Params = model.Params() // in the architecture's own order
	if m.Tables, err = decodeTables(s, tablesPrefix, synthetic); err != nil {
		return err
	}
	for _, kind := range propagation.Kinds {
		t, err := decodeTables(s, kind.Prefix(), synthetic)
		if err != nil {
			return err
		}
		m.SetPropagation(kind.Name, t)
	}
	m.Features, err = decodeTables(s, featuresPrefix, synthetic)
	return err
}

func isTable(name string) bool {
	return strings.HasPrefix(name, tablesPrefix) || strings.HasPrefix(name, featuresPrefix) ||
		slices.ContainsFunc(propagation.Kinds, func(k propagation.Kind) bool { return strings.HasPrefix(name, k.Prefix()) })
}

// decodeParams reads the weights in order of their names.
func decodeParams(s safetensors.Set) ([]infer.Param, error) {
	var params []infer.Param
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if isTable(name) {
			continue
		}
		value, err := s.Dense(name, safetensors.AnyLength, safetensors.AnyLength)
		if err != nil {
			return nil, err
		}
		params = append(params, infer.Param{Name: name, Value: value})
	}
	return params, nil
}

// decodeTables reads u0, u1, … and c under a prefix; nil if there are none.
func decodeTables(s safetensors.Set, prefix string, synthetic int) (*infer.Tables, error) {
	var tables infer.Tables
	var names []string
	for name := range s {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	slices.Sort(names)
	take := func(name string) (*graph.Dense, error) {
		names = slices.DeleteFunc(names, func(n string) bool { return n == name })
		return s.Dense(name, synthetic, safetensors.AnyLength)
	}
	for first := true; ; first = false {
		name := fmt.Sprintf("%su%d", prefix, len(tables.U))
		if _, ok := s[name]; !ok && !first {
			break
		}
		u, err := take(name)
		if err != nil {
			return nil, err
		}
		tables.U = append(tables.U, u)
	}
	if _, ok := s[prefix+"c"]; ok {
		var err error
		if tables.C, err = take(prefix + "c"); err != nil {
			return nil, err
		}
	}
	if len(names) > 0 {
		return nil, fmt.Errorf("tensor %q is unexpected after %su%d", names[0], prefix, len(tables.U)-1)
	}
	return &tables, nil
}

func mappingTensors(m *Mapping) []safetensors.Tensor {
	return append(safetensors.CSR("", "M, N×N'", m.Rows),
		idTensors(m.IDs, "the ids of M's rows, UTF-8, one after another")...)
}

// idTensors are ids one after another, which [decodeIDs] reads.
func idTensors(ids []string, about string) []safetensors.Tensor {
	offsets := make([]int, 1, len(ids)+1)
	var text []byte
	for _, id := range ids {
		text = append(text, id...)
		offsets = append(offsets, len(text))
	}
	return []safetensors.Tensor{
		safetensors.Int64s("ids.offsets", "N+1: id i is ids.bytes[offsets[i]:offsets[i+1]]", offsets),
		{Name: "ids.bytes", DType: safetensors.U8, Shape: []int{len(text)}, About: about, Data: text}}
}

// decodeRows reads rows of M with their ids.
func decodeRows(s safetensors.Set, rows, synthetic int) (*Mapping, error) {
	m, err := s.CSR("", rows, synthetic)
	if err != nil {
		return nil, err
	}
	ids, err := decodeIDs(s, rows)
	if err != nil {
		return nil, err
	}
	return &Mapping{IDs: ids, Rows: m}, nil
}

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

// decodeTensorFile reads the named file into its part of b, whose manifest is valid. Only shapes and types are
// checked here. A file with a name that this build does not know is ignored.
func decodeTensorFile(b *Bundle, name string, data []byte) error {
	var decode func(safetensors.Set) error
	switch {
	case name == schemaFile:
		return b.decodeSchema(data)
	case name == edgeTypesFile:
		of, err := decodeEdgeTypes(data)
		if b.Bins = of; err != nil {
			return fmt.Errorf("%s: %w", edgeTypesFile, err)
		}
		return nil
	case name == syntheticFile:
		decode = func(s safetensors.Set) error { return decodeSynthetic(b, s) }
	case name == mappingFile:
		decode = func(s safetensors.Set) (err error) {
			b.Mapping, err = decodeRows(s, b.Manifest.Mapping.Rows, b.Manifest.SyntheticNodes)
			return err
		}
	case name == binsFile:
		decode = func(s safetensors.Set) (err error) {
			b.Bins, err = decodeBins(s)
			return err
		}
	case name == directionsFile:
		decode = func(s safetensors.Set) (err error) {
			b.Bins, err = decodeDirections(s)
			return err
		}
	case name == ownFile:
		decode = func(s safetensors.Set) (err error) {
			b.Own, err = decodeOwn(s)
			return err
		}
	case name == candidatesFile:
		decode = func(s safetensors.Set) (err error) {
			b.Candidates, err = decodeCandidates(s, len(b.Manifest.Data.Classes))
			return err
		}
	case name == growthFile:
		decode = func(s safetensors.Set) (err error) {
			b.Growth, err = decodeGrowth(s, b.Manifest.SyntheticNodes, b.Manifest.Models)
			return err
		}
	case name == meansFile:
		decode = func(s safetensors.Set) (err error) {
			b.Means, err = decodeMeans(s, b.Manifest.SyntheticNodes, b.Manifest.Data.Features)
			return err
		}
	case name == spreadFile:
		decode = func(s safetensors.Set) (err error) {
			b.Spread, err = decodeSpread(s, b.Manifest.SyntheticNodes, b.Manifest.Data.Features, len(b.Manifest.Data.Classes))
			return err
		}
	case name == mapFile:
		decode = func(s safetensors.Set) (err error) {
			b.Map, err = decodeMap(s, b.Manifest.SyntheticNodes, len(b.Manifest.Data.Classes))
			return err
		}
	default:
		i := slices.IndexFunc(b.Models, func(m Model) bool { return modelFile(m.Name) == name })
		if i < 0 {
			return nil
		}
		decode = func(s safetensors.Set) error { return decodeModel(&b.Models[i], s, b.tableRows()) } // bins come before
	}
	tensors, err := safetensors.Decode(data)
	if err == nil {
		err = decode(tensors)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// requiredFiles returns the files that a manifest of these models must list.
func requiredFiles(m *Manifest) []string {
	names := []string{syntheticFile, mappingFile}
	for _, model := range m.Models {
		names = append(names, modelFile(model.Name))
	}
	return names
}
