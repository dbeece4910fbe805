package merge

import (
	"context"

	"rivulet/dataset"
	"rivulet/internal/durable"
	"rivulet/schema"
)

// Graph is a graph that arrivals are merged into: [*Data] or [*Tables].
type Graph interface {
	Name() string
	Rename(name string)
	// Features is the number of features, d.
	Features() int
	// Schema gives the features' positions their meaning; nil: they have no names.
	Schema() *schema.Schema
	// Nodes is the number of nodes of T.
	Nodes() int
	// Fingerprint identifies the content.
	Fingerprint() string
	// ValidationSet returns a data set with the validation nodes, their features, classes and neighbours; for tables, a
	// sample of roughly most of them.
	ValidationSet(ctx context.Context, most int64) (*dataset.Dataset, error)
	// Save stores the graph in a directory, which must not exist or be empty, and returns the stored graph. more writes
	// files beside it. When Save returns, everything is durable; a crash leaves the whole graph or nothing.
	Save(disk durable.Disk, dir string, more func(dir, fingerprint string) error) (Graph, error)

	form() form               // of its edges
	typed() bool              // nodes are of several types
	answers() *answers        // of its nodes, numbered as eachNode numbers them
	columns() []schema.Column // whose values are kept for a schema that is fitted anew
	rows() int64              // all nodes, whatever their role
	// withoutRole reports whether a node in no role is a known end of an edge.
	withoutRole() bool
	// eachNode gives the nodes in their order.
	eachNode(ctx context.Context, use func(id string, role Role, answer int32) error) error
	// eachEdge gives the edges, each at least once.
	eachEdge(ctx context.Context, use func(source, target string, p property) error) error
	// eachLabelled gives the nodes whose class came from a label.
	eachLabelled(use func(id string) error) error
	// eachWaiting gives the edges that wait, in the order in which they came: the id of the other end is not known, and of
	// an edge of its own the node may not be known either.
	eachWaiting(use func(node, id string, p property) error) error
	// grow returns the graph with the growth's decisions carried out.
	grow(g *growth) (Graph, error)
}
