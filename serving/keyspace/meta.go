package keyspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"rivulet/artifact"
	"rivulet/mapping"
)

// layout is the version of the keys' layout that this build writes and reads.
const layout = 1

// partBytes is the size of a file's parts. Redis takes up to 512 MB in one string, but serves nobody else while it
// sends or stores one.
const partBytes = 4 << 20

// maxParts bounds the work that a damaged meta can cause: 64 GiB a file.
const maxParts = 1 << 14

// Meta lists the contents of a complete version.
type Meta struct {
	Layout    int    `json:"layout"`
	Rows      int    `json:"rows"` // N
	Buckets   int    `json:"buckets"`
	Pages     int    `json:"pages"`     // per bucket
	Hash      string `json:"hash"`      // from an id to its page
	Synthetic int    `json:"synthetic"` // N'
	Files     []File `json:"files"`     // by name, ascending
}

// File is one file of the artifact's serving part.
type File struct {
	Name   string `json:"name"`
	Parts  int    `json:"parts"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // hex
}

// RowLayout returns the layout of the rows of M.
func (m *Meta) RowLayout() mapping.Layout { return mapping.Layout{Buckets: m.Buckets, Pages: m.Pages} }

// Describe returns the meta of a bundle and a SHA-256 (hex) of its content. The manifest is one of the files and
// contains the checksum of M, so the SHA-256 covers the rows too.
func Describe(b *artifact.Bundle, rows mapping.Layout, files map[string][]byte) (m Meta, content string) {
	m = Meta{
		Layout:    layout,
		Rows:      b.Manifest.Mapping.Rows,
		Buckets:   rows.Buckets,
		Pages:     rows.Pages,
		Hash:      mapping.HashName,
		Synthetic: b.Manifest.SyntheticNodes,
	}
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum := sha256.Sum256(files[name])
		fmt.Fprintf(all, "%s\x00%x\x00", name, sum)
		size := len(files[name])
		m.Files = append(m.Files, File{
			Name: name, Parts: (size + partBytes - 1) / partBytes, Bytes: int64(size), SHA256: hex.EncodeToString(sum[:]),
		})
	}
	return m, hex.EncodeToString(all.Sum(nil))
}

// Parts cuts a file into the parts that Redis stores.
func Parts(data []byte) [][]byte { return slices.Collect(slices.Chunk(data, partBytes)) }

// Check compares a file with its size and SHA-256 in meta.
func (f *File) Check(data []byte) error {
	if int64(len(data)) != f.Bytes {
		return fmt.Errorf("file %s has %d bytes, want %d", f.Name, len(data), f.Bytes)
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != f.SHA256 {
		return fmt.Errorf("file %s has SHA-256 %s, want %s: changed or damaged", f.Name, got, f.SHA256)
	}
	return nil
}

// Publication holds the fields of one writing or complete key.
type Publication struct {
	Serial  int64  // field generation
	Content string // SHA-256 of the files, hex
	Meta    Meta
}

// ID identifies a publication, even among ones with the same name in a Redis that lost everything in between.
func (p Publication) ID() string { return strconv.FormatInt(p.Serial, 10) + ":" + p.Content }

// Parse reads the fields generation, content and meta of a writing or complete key.
func Parse(serial, content, text string) (p Publication, err error) {
	p.Content = content
	if p.Serial, err = strconv.ParseInt(serial, 10, 64); err != nil {
		return p, fmt.Errorf("the serial number (field generation) is %q, want a number", serial)
	}
	p.Meta, err = ParseMeta(text)
	return p, err
}

// ParseMeta reads and checks a meta, by which data are read or removed.
func ParseMeta(text string) (m Meta, err error) {
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, fmt.Errorf("meta: %w", err)
	}
	switch {
	case m.Layout != layout:
		return m, fmt.Errorf("meta.layout is %d, this build reads %d", m.Layout, layout)
	case m.Hash != mapping.HashName:
		return m, fmt.Errorf("meta.hash is %q, this build reads %q", m.Hash, mapping.HashName)
	case m.Rows < 0 || m.Rows > math.MaxInt32:
		return m, fmt.Errorf("meta.rows is %d, want 0 to %d", m.Rows, math.MaxInt32)
	case m.Synthetic < 1:
		return m, fmt.Errorf("meta.synthetic is %d, want 1 or more", m.Synthetic)
	}
	if err := m.RowLayout().Check(m.Rows); err != nil {
		return m, fmt.Errorf("meta: %w", err)
	}
	for i, f := range m.Files {
		if f.Parts < 0 || f.Parts > maxParts || f.Bytes < 0 {
			return m, fmt.Errorf("meta.files[%d] (%s) has %d parts and %d bytes, want 0 to %d parts", i, f.Name, f.Parts,
				f.Bytes, maxParts)
		}
	}
	return m, nil
}
