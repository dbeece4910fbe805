package artifact

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
)

// Validate checks everything that serving relies on, except Manifest.FormatVersion, Version and Files, which are
// completed on writing. The error names the file that the part belongs to, the field or tensor, and the reason. Where
// Mapping is nil, only the serving part is checked.
func (b *Bundle) Validate() error {
	if err := b.Manifest.validate(); err != nil {
		return fmt.Errorf("%s: %w", manifestFile, err)
	}
	if err := b.validateSynthetic(); err != nil {
		return fmt.Errorf("%s: %w", syntheticFile, err)
	}
	if err := validateSlots(&b.Slots); err != nil {
		return fmt.Errorf("%s: %w", edgesFile, err)
	}
	if b.Slots.Relational() && b.Growth != nil {
		return fmt.Errorf("%s: rows of arrivals have neither types nor directions, and %s has", growthFile, edgesFile)
	}
	if len(b.Models) != len(b.Manifest.Models) {
		return fmt.Errorf("%s: models has %d entries for %d models", manifestFile, len(b.Manifest.Models), len(b.Models))
	}
	for i := range b.Models {
		if err := b.validateModel(&b.Models[i], &b.Manifest.Models[i]); err != nil {
			return fmt.Errorf("%s: %w", modelFile(b.Manifest.Models[i].Name), err)
		}
	}
	if err := b.validateOwn(); err != nil {
		return fmt.Errorf("%s: %w", ownFile, err)
	}
	if err := b.validateCandidates(); err != nil {
		return fmt.Errorf("%s: %w", candidatesFile, err)
	}
	if b.Mapping != nil {
		if err := b.validateMapping(); err != nil {
			return fmt.Errorf("%s: %w", mappingFile, err)
		}
	}
	if b.Growth != nil {
		if err := b.validateGrowth(); err != nil {
			return fmt.Errorf("%s: %w", growthFile, err)
		}
	}
	if err := b.validateSpread(); err != nil {
		return err
	}
	if b.Map != nil {
		m := &b.Manifest
		if err := b.Map.validate(m.SyntheticNodes, m.Data.Features, len(m.Data.Classes)); err != nil {
			return fmt.Errorf("%s: %w", mapFile, err)
		}
	}
	if b.Schema != nil && b.Schema.Width() != b.Manifest.Data.Features {
		return fmt.Errorf("%s: features have %d positions, data.features is %d", schemaFile, b.Schema.Width(),
			b.Manifest.Data.Features)
	}
	return nil
}

func (b *Bundle) validateSynthetic() error {
	n, d := b.Manifest.SyntheticNodes, b.Manifest.Data.Features
	if err := validateWeights(b.Synthetic.Adj, n, n); err != nil {
		return fmt.Errorf("adj: %w", err)
	}
	if err := validateSymmetric(b.Synthetic.Adj); err != nil {
		return fmt.Errorf("adj: %w", err)
	}
	if err := validateDense(b.Synthetic.X, n, d); err != nil {
		return fmt.Errorf("x: %w", err)
	}
	if len(b.Synthetic.Labels) != n {
		return fmt.Errorf("y has %d values, want %d", len(b.Synthetic.Labels), n)
	}
	for i, y := range b.Synthetic.Labels {
		if y < 0 || int(y) >= len(b.Manifest.Data.Classes) {
			return fmt.Errorf("y[%d] is %d, outside 0…%d", i, y, len(b.Manifest.Data.Classes)-1)
		}
	}
	return b.validatePreprocess(d)
}

func (b *Bundle) validatePreprocess(d int) error {
	p, info := &b.Preprocess, b.Manifest.Preprocess
	if p.Kind != info.Kind || p.Scale != info.Scale {
		return fmt.Errorf("preprocess is %q with scale %v, the manifest says %q with %v", p.Kind, p.Scale,
			info.Kind, info.Scale)
	}
	if err := p.Validate(d); err != nil {
		return err
	}
	if (!p.Centres() && p.Mean != nil) || (p.Kind != preprocess.Standardize && p.Std != nil) {
		return fmt.Errorf("preprocess of kind %q has %d means and %d deviations that it does not use", p.Kind,
			len(p.Mean), len(p.Std))
	}
	if err := validateFinite(p.Mean, 1); err != nil {
		return fmt.Errorf("preprocess.mean: %w", err)
	}
	if err := validateFinite(p.Std, 1); err != nil {
		return fmt.Errorf("preprocess.std: %w", err)
	}
	return nil
}

func (b *Bundle) validateModel(m *Model, info *ModelInfo) error {
	if m.Name != info.Name {
		return fmt.Errorf("model is %q, the manifest says %q", m.Name, info.Name)
	}
	for _, p := range m.Params {
		if isTable(p.Name) {
			return fmt.Errorf("weight %q has the name of a table", p.Name)
		}
		if p.Value == nil {
			continue // Build refuses it
		}
		if err := validateDense(p.Value, p.Value.Rows, p.Value.Cols); err != nil {
			return fmt.Errorf("weight %q: %w", p.Name, err)
		}
	}
	model, err := infer.Build(m.Name, m.Params)
	if err != nil {
		return err
	}
	d, classes := b.Manifest.Data.Features, len(b.Manifest.Data.Classes)
	if model.Features() != d || model.Classes() != classes {
		return fmt.Errorf("weights are for %d features and %d classes, the data have %d and %d",
			model.Features(), model.Classes(), d, classes)
	}
	return b.validateTables(m, info, model)
}

// validateTables checks the tables' shapes: it compares them with the tables of a graph of one node.
func (b *Bundle) validateTables(m *Model, info *ModelInfo, model infer.Model) error {
	frozen := info.Attachment == AttachFrozen
	read := &graph.CSR{Rows: 1, Cols: 1, RowPtr: []int{0, 0}}
	switch a := model.Architecture; {
	case a.Relational() && (!frozen || !a.Reads(&b.Slots) || a.Relations() != b.Slots.Len()):
		return fmt.Errorf("model %s in attachment %s reads %d relations of edges, and tables are of %d slots",
			m.Name, info.Attachment, a.Relations(), b.Slots.Len())
	case a.Relational():
		read.Cols = a.Relations()
	case !a.Reads(&b.Slots):
		return fmt.Errorf("model %s reads no relations of edges, and %s has some", m.Name, edgesFile)
	}
	ofModel := m.Tables
	if err := infer.Freezable(model); err == nil {
		ofModel = model.Tables(read, preprocess.Ready(graph.NewDense(1, model.Features())))
	} else if frozen || m.Tables != nil {
		return fmt.Errorf("attachment is %s with %d frozen tables: %w", info.Attachment, countTables(m.Tables), err)
	}
	if err := b.validateGroup(m.Tables, ofModel, tablesPrefix, info, frozen); err != nil {
		return err
	}
	for _, kind := range propagation.Kinds {
		tables, like := m.Propagations[kind.Name], &infer.Tables{}
		for range propagation.Steps {
			like.U = append(like.U, graph.NewDense(1, model.Classes()))
		}
		_, chosen := info.Propagation[kind.Name]
		if tables != nil && !chosen {
			return fmt.Errorf("tensor %q is there, the manifest has no propagation %q", kind.Prefix()+"u0", kind.Name)
		}
		if err := b.validateGroup(tables, like, kind.Prefix(), info, chosen && frozen); err != nil {
			return err
		}
	}
	return validateFeatures(m, model, b.tableRows())
}

// validateGroup checks tables under a prefix, which may be missing where they are not needed.
func (b *Bundle) validateGroup(t, like *infer.Tables, prefix string, info *ModelInfo, needed bool) error {
	if t == nil && needed {
		return fmt.Errorf("tensor %q is missing: attachment is %s", prefix+"u0", info.Attachment)
	}
	if t == nil {
		return nil
	}
	return validateLike(t, like, prefix, b.tableRows())
}

// validateFeatures checks the tables of features, which a linear model may have.
func validateFeatures(m *Model, model infer.Model, n int) error {
	switch {
	case m.Features == nil:
		return nil
	case !model.Architecture.Linear():
		return fmt.Errorf("tensor %q is there, only linear models as sgc have tables of features", featuresPrefix+"u0")
	}
	lone := &graph.CSR{Rows: 1, Cols: 1, RowPtr: []int{0, 0}}
	return validateLike(m.Features, model.FeatureTables(lone, preprocess.Ready(graph.NewDense(1, model.Features()))),
		featuresPrefix, n)
}

func countTables(t *infer.Tables) int {
	if t == nil {
		return 0
	}
	return len(t.U)
}

// validateLike checks tables of n rows against others of the same widths.
func validateLike(t, like *infer.Tables, prefix string, n int) error {
	if len(t.U) != len(like.U) {
		return fmt.Errorf("%d tensors %su0, …, want %d", len(t.U), prefix, len(like.U))
	}
	if (t.C == nil) != (like.C == nil) {
		return fmt.Errorf("tensor %q: present is %t, want %t", prefix+"c", t.C != nil, like.C != nil)
	}
	for k, u := range t.U {
		if err := validateDense(u, n, like.U[k].Cols); err != nil {
			return fmt.Errorf("tensor %su%d: %w", prefix, k, err)
		}
	}
	if t.C != nil {
		if err := validateDense(t.C, n, like.C.Cols); err != nil {
			return fmt.Errorf("tensor %sc: %w", prefix, err)
		}
	}
	return nil
}

func (b *Bundle) validateMapping() error {
	info := b.Manifest.Mapping
	if err := validateWeights(b.Mapping.Rows, info.Rows, b.Manifest.SyntheticNodes); err != nil {
		return err
	}
	if n := b.Mapping.Rows.NNZ(); n != info.Entries {
		return fmt.Errorf("%d entries, the manifest says %d", n, info.Entries)
	}
	for i := range b.Mapping.Rows.Rows {
		if n := b.Mapping.Rows.RowLen(i); n > info.MaxPerRow {
			return fmt.Errorf("row %d has %d entries, the manifest says %d at most", i, n, info.MaxPerRow)
		}
	}
	return validateIDs(b.Mapping.IDs, info.Rows)
}

func validateIDs(ids []string, rows int) error {
	if len(ids) != rows {
		return fmt.Errorf("%d ids for %d rows", len(ids), rows)
	}
	first := make(map[string]int, len(ids))
	for i, id := range ids {
		if id == "" {
			return fmt.Errorf("ids[%d] is empty", i)
		}
		if !utf8.ValidString(id) {
			return fmt.Errorf("ids[%d] is %q, which is not UTF-8", i, id)
		}
		if k, twice := first[id]; twice {
			return fmt.Errorf("ids[%d] is %q, as is ids[%d]", i, id, k)
		}
		first[id] = i
	}
	return nil
}

// validateWeights checks a rows×cols matrix of weights: a valid CSR, columns of a row ascending, values 0 or more.
func validateWeights(m *graph.CSR, rows, cols int) error {
	if m == nil {
		return fmt.Errorf("no matrix, want %d×%d", rows, cols)
	}
	if m.Rows != rows || m.Cols != cols {
		return fmt.Errorf("matrix is %d×%d, want %d×%d", m.Rows, m.Cols, rows, cols)
	}
	if err := m.Validate(); err != nil {
		return err
	}
	for i := range m.Rows {
		cols, vals := m.Row(i)
		for p, c := range cols {
			if p > 0 && c <= cols[p-1] {
				return fmt.Errorf("indices[%d] is %d after %d, want the columns of row %d to ascend", m.RowPtr[i]+p, c,
					cols[p-1], i)
			}
			if vals != nil && vals[p] < 0 {
				return fmt.Errorf("data[%d] is %v (row %d, column %d), want 0 or more", m.RowPtr[i]+p, vals[p], i, c)
			}
		}
	}
	return nil
}

// validateSymmetric checks that a square matrix with ascending columns equals its transpose and stores no diagonal.
func validateSymmetric(m *graph.CSR) error {
	t := m.Transpose()
	for i := range m.Rows {
		cols, vals := m.Row(i)
		back, backVals := t.Row(i)
		if !slices.Equal(cols, back) {
			return fmt.Errorf("not symmetric: row %d has columns %v, column %d has rows %v", i, cols, i, back)
		}
		if !slices.Equal(vals, backVals) {
			return fmt.Errorf("not symmetric: values of row %d differ from those of column %d", i, i)
		}
		if _, self := slices.BinarySearch(cols, int32(i)); self {
			return fmt.Errorf("row %d has an entry on the diagonal", i)
		}
	}
	return nil
}

func validateDense(m *graph.Dense, rows, cols int) error {
	if m == nil {
		return fmt.Errorf("no matrix, want %d×%d", rows, cols)
	}
	if m.Rows != rows || m.Cols != cols || len(m.Data) != rows*cols {
		return fmt.Errorf("%d values of shape %d×%d, want %d×%d", len(m.Data), m.Rows, m.Cols, rows, cols)
	}
	return validateFinite(m.Data, cols)
}

// validateFinite names the first value that is NaN or infinite, by row and column.
func validateFinite(values []float32, cols int) error {
	for k, v := range values {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			if cols == 1 {
				return fmt.Errorf("value %d is %v", k, v)
			}
			return fmt.Errorf("row %d, column %d is %v", k/cols, k%cols, v)
		}
	}
	return nil
}

// validateScales checks n finite numbers that are 0 or more.
func validateScales(values []float32, n int) error {
	if len(values) != n {
		return fmt.Errorf("%d values, want %d", len(values), n)
	}
	for i, v := range values {
		if v < 0 {
			return fmt.Errorf("value %d is %v, want 0 or more", i, v)
		}
	}
	return validateFinite(values, 1)
}

// validateSpread checks the spread, if the bundle has one.
func (b *Bundle) validateSpread() error {
	if b.Spread == nil {
		return nil
	}
	err := b.Spread.validate(b.Manifest.SyntheticNodes, b.Manifest.Data.Features, len(b.Manifest.Data.Classes))
	if err != nil {
		return fmt.Errorf("%s: %w", spreadFile, err)
	}
	return nil
}
