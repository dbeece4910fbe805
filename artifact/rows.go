package artifact

import (
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"

	"rivulet/graph"
)

// PartRows is the number of rows of M in a file. A larger M is written as an index and parts, so that nobody has to
// have all of it in memory; a smaller one is a single file.
const PartRows = 1 << 18

// partRows is [PartRows]; tests have smaller parts.
var partRows = PartRows

const (
	partsDir = "mapping"
	// firstPart stands in requires for all parts: without it, readers would take the index for M.
	firstPart = partsDir + "/00000.safetensors"
	// indexTensor is the only tensor of mapping.safetensors where M is in parts.
	indexTensor = "parts.rows"
)

func partFile(k int) string { return fmt.Sprintf("%s/%05d.safetensors", partsDir, k) }

// isPart reports whether a file of an artifact is a part of M.
func isPart(name string) bool { return strings.HasPrefix(name, partsDir+"/") }

// InParts reports whether M lies in several files of the artifact.
func (m *Manifest) InParts() bool { return slices.Contains(m.Requires, firstPart) }

// inParts reports whether M will be written in several files.
func (b *Bundle) inParts() bool {
	return b.Mapping == nil && b.Parts != nil || b.Mapping != nil && len(b.Mapping.IDs) > partRows
}

// hasParts reports whether M lies in several files, also where the bundle has none of its rows.
func (b *Bundle) hasParts() bool {
	_, listed := b.Manifest.Files[firstPart]
	return b.inParts() || b.Mapping == nil && listed
}

// Pieces gives the rows of M in their order, at most [PartRows] at a time where they come from files, so that no
// more than a part need be in memory. A piece must not be changed, and is the caller's to keep. After an error,
// which names the file, there are no more. It may be called again.
func (b *Bundle) Pieces() iter.Seq2[*Mapping, error] {
	if b.Mapping == nil && b.Parts != nil {
		return b.Parts
	}
	return func(yield func(*Mapping, error) bool) {
		if b.Mapping != nil {
			yield(b.Mapping, nil)
		}
	}
}

// LoadMapping brings all of M into memory, for callers that look up its rows there, and refuses an id that is in two
// parts.
func (b *Bundle) LoadMapping() error {
	if b.Mapping != nil || b.Parts == nil {
		return nil
	}
	m, err := Join(b.Parts, b.Manifest.Mapping, b.Manifest.SyntheticNodes)
	if err == nil {
		err = validateIDs(m.IDs, b.Manifest.Mapping.Rows)
	}
	if err != nil {
		return fmt.Errorf("reading all of M: %w", err)
	}
	b.Mapping, b.Parts = m, nil
	return nil
}

// Join returns the rows of pieces as one matrix of cols columns. size says how many rows and entries they have
// together.
func Join(pieces iter.Seq2[*Mapping, error], size MappingInfo, cols int) (*Mapping, error) {
	out := newMapping(size.Rows, size.Entries, cols)
	for p, err := range pieces {
		if err != nil {
			return nil, err
		}
		if size.Rows-len(out.IDs) < len(p.IDs) {
			return nil, fmt.Errorf("more than the %d rows of the manifest", size.Rows)
		}
		out.add(p, 0, len(p.IDs))
	}
	if len(out.IDs) != size.Rows || out.Rows.NNZ() != size.Entries {
		return nil, fmt.Errorf("%d rows with %d entries, the manifest says %d with %d", len(out.IDs), out.Rows.NNZ(),
			size.Rows, size.Entries)
	}
	return out, nil
}

// newMapping returns an M without rows that has room for some.
func newMapping(rows, entries, cols int) *Mapping {
	return &Mapping{
		IDs: make([]string, 0, rows),
		Rows: &graph.CSR{Cols: cols, RowPtr: make([]int, 1, rows+1), ColIdx: make([]int32, 0, entries),
			Val: make([]float32, 0, entries)},
	}
}

// add appends the rows lo to hi−1 of p.
func (m *Mapping) add(p *Mapping, lo, hi int) {
	m.IDs = append(m.IDs, p.IDs[lo:hi]...)
	from, to, before := p.Rows.RowPtr[lo], p.Rows.RowPtr[hi], len(m.Rows.ColIdx)
	m.Rows.ColIdx = append(m.Rows.ColIdx, p.Rows.ColIdx[from:to]...)
	if p.Rows.Val != nil {
		m.Rows.Val = append(m.Rows.Val, p.Rows.Val[from:to]...)
	} else {
		m.Rows.Val = append(m.Rows.Val, slices.Repeat([]float32{1}, to-from)...)
	}
	for _, end := range p.Rows.RowPtr[lo+1 : hi+1] {
		m.Rows.RowPtr = append(m.Rows.RowPtr, before+end-from)
	}
	m.Rows.Rows = len(m.IDs)
}

// repacked gives the same rows in pieces of n; the last may have fewer. A piece is valid until the next.
func repacked(pieces iter.Seq2[*Mapping, error], n, cols int) iter.Seq2[*Mapping, error] {
	return func(yield func(*Mapping, error) bool) {
		held := newMapping(n, 0, cols)
		for p, err := range pieces {
			if err != nil {
				yield(nil, err)
				return
			}
			for lo := 0; lo < len(p.IDs); {
				hi := min(len(p.IDs), lo+n-len(held.IDs))
				held.add(p, lo, hi)
				lo = hi
				if len(held.IDs) == n {
					if !yield(held, nil) {
						return
					}
					held.clear()
				}
			}
		}
		if len(held.IDs) > 0 {
			yield(held, nil)
		}
	}
}

func (m *Mapping) clear() {
	clear(m.IDs)
	m.IDs = m.IDs[:0]
	m.Rows.Rows, m.Rows.RowPtr, m.Rows.ColIdx, m.Rows.Val = 0, m.Rows.RowPtr[:1], m.Rows.ColIdx[:0], m.Rows.Val[:0]
}

// checked passes pieces on after all checks of [Bundle.Validate] on M's rows, except that an id may be in two pieces;
// at the end it checks that the rows are complete.
func (b *Bundle) checked(pieces iter.Seq2[*Mapping, error]) iter.Seq2[*Mapping, error] {
	info := b.Manifest.Mapping
	return func(yield func(*Mapping, error) bool) {
		rows, entries := 0, 0
		for p, err := range pieces {
			if err == nil {
				err = p.validate(rows, info.MaxPerRow, b.Manifest.SyntheticNodes)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			rows, entries = rows+len(p.IDs), entries+p.Rows.NNZ()
			if !yield(p, nil) {
				return
			}
		}
		if rows != info.Rows || entries != info.Entries {
			yield(nil, fmt.Errorf("M has %d rows with %d entries, the manifest says %d with %d", rows, entries, info.Rows,
				info.Entries))
		}
	}
}

// validate checks a piece of M whose first row is row first of M.
func (m *Mapping) validate(first, longest, cols int) error {
	err := validateWeights(m.Rows, len(m.IDs), cols)
	for i := 0; err == nil && i < len(m.IDs); i++ {
		if n := m.Rows.RowLen(i); n > longest {
			err = fmt.Errorf("row %d has %d entries, the manifest says %d at most", i, n, longest)
		}
	}
	if err == nil {
		err = validateIDs(m.IDs, len(m.IDs))
	}
	if err != nil {
		return fmt.Errorf("rows of M from %d on: %w", first, err)
	}
	return nil
}

// encodedParts are the files of an M in parts, without their content.
type encodedParts struct {
	files map[string]File // parts only
	index []byte          // mapping.safetensors
}

// encodeParts calls keep with each part's name and content, which are valid until it returns.
func (b *Bundle) encodeParts(keep func(name string, data []byte) error) (*encodedParts, error) {
	out, counts := &encodedParts{files: map[string]File{}}, []int(nil)
	for p, err := range b.checked(repacked(b.Pieces(), partRows, b.Manifest.SyntheticNodes)) {
		if err != nil {
			return nil, err
		}
		name := partFile(len(counts))
		data, err := encodeFields(func(f *fields) { p.fields(f, len(p.IDs), b.Manifest.SyntheticNodes) })
		if err == nil {
			err = keep(name, data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out.files[name] = describe(data)
		counts = append(counts, len(p.IDs))
	}
	var err error
	if out.index, err = encodeFields(func(f *fields) { indexField(f, &counts) }); err != nil {
		return nil, fmt.Errorf("%s: %w", mappingFile, err)
	}
	return out, nil
}

func indexField(f *fields, counts *[]int) {
	f.ints(indexTensor, "rows of mapping/00000.safetensors, 00001, …", counts, anyLength)
}

// readIndex returns the rows of each part of an M in parts.
func readIndex(root *os.Root, m *Manifest) ([]int, error) {
	var counts []int
	if err := readFields(root, m, mappingFile, func(f *fields) { indexField(f, &counts) }); err != nil {
		return nil, err
	}
	rows, listed := 0, 0
	for name := range m.Files {
		if isPart(name) {
			listed++
		}
	}
	for k, n := range counts {
		if _, there := m.Files[partFile(k)]; !there {
			return nil, fmt.Errorf("%s has %d parts, and the manifest does not list %s", indexTensor, len(counts), partFile(k))
		}
		if n < 1 || n > m.Mapping.Rows-rows {
			return nil, fmt.Errorf("%s[%d] is %d after %d rows of %d", indexTensor, k, n, rows, m.Mapping.Rows)
		}
		rows += n
	}
	if rows != m.Mapping.Rows || listed != len(counts) {
		return nil, fmt.Errorf("%s says %d rows in %d parts, the manifest %d in %d", indexTensor, rows, len(counts),
			m.Mapping.Rows, listed)
	}
	return counts, nil
}

// storedParts gives the parts of an artifact's directory, each after a comparison with its SHA-256.
func storedParts(dir string, m *Manifest, counts []int) iter.Seq2[*Mapping, error] {
	return func(yield func(*Mapping, error) bool) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = root.Close() }()
		for k, n := range counts {
			p := new(Mapping)
			if err := readFields(root, m, partFile(k), func(f *fields) { p.fields(f, n, m.SyntheticNodes) }); err != nil {
				yield(nil, fmt.Errorf("%s: %w", partFile(k), err))
				return
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// readFields reads a file that the manifest lists, after a comparison with its SHA-256.
func readFields(root *os.Root, m *Manifest, name string, visit func(*fields)) error {
	data, err := readListed(root, name, m.Files[name])
	if err == nil {
		err = verify(data, m.Files[name])
	}
	if err != nil {
		return err
	}
	return decodeFields(data, visit)
}

// openParts sets Parts after reading each of them once.
func (b *Bundle) openParts(root *os.Root, dir string) error {
	counts, err := readIndex(root, &b.Manifest)
	if err != nil {
		return fmt.Errorf("%s: %w", mappingFile, err)
	}
	b.Parts = storedParts(dir, &b.Manifest, counts)
	for _, err := range b.checked(b.Parts) {
		if err != nil {
			return err
		}
	}
	return nil
}
