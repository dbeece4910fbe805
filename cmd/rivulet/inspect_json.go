package main

import (
	"encoding/json"
	"io"

	"rivulet/artifact"
	"rivulet/schema"
)

// inspectOutput is the output of inspect --json: names and meanings stay, new fields may come (artifact/FORMAT.md).
type inspectOutput struct {
	Manifest       artifact.Manifest `json:"manifest"`
	SyntheticEdges int               `json:"synthetic_edges"` // undirected edges of S
	// synthetic nodes of each class, in the order of data.classes
	SyntheticByClass []int `json:"synthetic_by_class"`
	RowsByEntries    []int `json:"rows_by_entries"` // rows of M with 0 entries, with 1, …
	FileBytes        int64 `json:"file_bytes"`      // of all files
	// by model: whether it publishes them in its own attachment
	Embeddings map[string]bool  `json:"embeddings"`
	Schema     *inspectedSchema `json:"schema,omitempty"`
}

type inspectedSchema struct {
	Hash      string         `json:"hash"`
	Positions []string       `json:"positions"` // names, such as "country=DE"
	Content   *schema.Schema `json:"content"`   // schema.json
}

func inspectJSON(w io.Writer, b *artifact.Bundle) error {
	out := inspectOutput{
		Manifest: b.Manifest, SyntheticEdges: b.Synthetic.Adj.NNZ() / 2,
		SyntheticByClass: make([]int, len(b.Manifest.Data.Classes)), Embeddings: map[string]bool{},
	}
	for _, y := range b.Synthetic.Labels {
		out.SyntheticByClass[y]++
	}
	var err error
	if out.RowsByEntries, err = rowsByEntries(b); err != nil {
		return err
	}
	for _, f := range b.Manifest.Files {
		out.FileBytes += f.Bytes
	}
	for i, m := range b.Manifest.Models {
		out.Embeddings[m.Name] = b.Models[i].Features != nil || !linear(m.Name) || m.Attachment != artifact.AttachFrozen
	}
	if b.Schema != nil {
		out.Schema = &inspectedSchema{b.Schema.Hash(), b.Schema.Names(), b.Schema}
	}
	return json.NewEncoder(w).Encode(out)
}
