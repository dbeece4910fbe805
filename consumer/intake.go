package consumer

import "rivulet/internal/kafka"

// Intake is what one batch is made of.
type Intake struct {
	// Name is the micro-batch's name. Predictions carry it.
	Name string
	// Records are in the order in which they were read, those of one partition in the order of their offsets.
	Records []kafka.Record
	// Offsets are the next offsets to read once the batch is delivered; nil where the records come from elsewhere.
	Offsets kafka.Offsets
	// Generation commits them.
	Generation kafka.Committer
	// After is the batch that must be delivered before this one; nil where there is none or it does not matter.
	After *Ticket
}

// Mode says what a batch knows of its other arrivals (docs/algorithm.md, section 1).
type Mode string

// Modes.
const (
	// Graph keeps ã, the edges between the arrivals of a batch.
	Graph Mode = "graph"
	// Node takes every arrival on its own: ã is zero.
	Node Mode = "node"
)

// Limits bound what a record may ask for; a record beyond them is a dead letter.
type Limits struct {
	// Edges is the longest edge list, before repeated ids are merged; 0 means no limit.
	Edges int
	// RecordBytes is the largest record, key and value together; 0 means no limit.
	RecordBytes int
}

// RepresentationNone is the value of [Output.Representation] that asks for none.
const RepresentationNone = "none"

// Output says what a prediction holds beside the most probable class.
type Output struct {
	// TopK is how many of the most probable classes it lists; 0 means none, more than C means C.
	TopK int
	// Probabilities and Logits ask for one value a class.
	Probabilities, Logits bool
	// Representation is what a feed computes with instead of a class: event.RepresentationLogits,
	// event.RepresentationEmbedding, for which the versions must have been loaded, or none ("none" or empty).
	Representation string
}
