package artifact

import (
	"iter"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/preprocess"
	"rivulet/schema"
)

// Bundle is an artifact in memory: everything that a consumer needs to serve, and M or a way to read it.
type Bundle struct {
	Manifest   Manifest
	Preprocess preprocess.Parameters
	Synthetic  Synthetic
	Models     []Model  // in the order of Manifest.Models
	Mapping    *Mapping // nil in the serving part, whose rows of M are in Redis, and where Parts is set
	// Parts is M if it need not be in memory: its rows in order, some at a time, as often as they are asked for. A piece
	// is never changed after it was given. nil if M is in Mapping. [Bundle.Pieces] reads either.
	Parts  iter.Seq2[*Mapping, error]
	Growth *Growth // nil where the artifact has nothing to solve rows of arrivals against
	// Schema makes rows of features of named values; nil where features have positions only.
	Schema *schema.Schema
	// Own are the layers of the perceptron of own features that answers beside those models whose ModelInfo.Own has an
	// exponent; nil where none does.
	Own []architecture.Layer
	// Slots say which tables an edge reads. Tables have N' rows for each slot.
	Slots graph.Slots
	// Candidates are the nodes that a link may lead to, with their vectors; nil where the task is not links.
	Candidates *Candidates
	// Spread is nil where the artifact has none, or it was not asked for: only [ReadSpread] reads it.
	Spread *Spread
	Map    *Map // S in the plane; nil where the artifact has none
}

// Synthetic is S = (A', X', Y').
type Synthetic struct {
	Adj    *graph.CSR   // A' N'×N', ≥ 0, symmetric, zero diagonal, columns of a row ascending
	X      *graph.Dense // X' N'×d, preprocessed
	Labels []int32      // Y' N', class index
}

// Model is one model over the shared M: its weights and its tables for frozen attachment.
type Model struct {
	Name   string // "sgc"
	Params []infer.Param
	Tables *infer.Tables // frozen tables of S
	// Propagations are the tables of S of each kind of propagation that has some; nil where none has.
	Propagations map[string]*infer.Tables
	// Features are the tables of pre(X) itself on S, 2d+1 numbers a node, by which a frozen SGC gives embeddings
	// ([infer.Network.FrozenFeatures]). Only linear models may have them; nil where there are none.
	Features *infer.Tables
}

// SetPropagation adds the tables of a kind of propagation; nil adds nothing.
func (m *Model) SetPropagation(kind string, t *infer.Tables) {
	if t == nil {
		return
	}
	if m.Propagations == nil {
		m.Propagations = map[string]*infer.Tables{}
	}
	m.Propagations[kind] = t
}

// Mapping is M with the external ids of its rows.
type Mapping struct {
	IDs  []string   // N distinct ids of T's nodes
	Rows *graph.CSR // N×N', ≥ 0, columns of a row ascending; empty rows are nodes without weights
}
