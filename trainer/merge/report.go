package merge

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Report counts the outcomes of arrivals and labels.
type Report struct {
	Arrivals int `json:"arrivals"` // records that are arrivals
	Joined   int `json:"joined"`   // nodes that came into T
	Labelled int `json:"labelled"` // of these, training nodes

	Again        int `json:"again"`                   // arrivals with the id of an earlier one, which stays
	InT          int `json:"in_t"`                    // ids of nodes of T, which are not changed
	HeldOut      int `json:"held_out"`                // ids of validation and test nodes
	Updated      int `json:"updated,omitempty"`       // of these nodes, those whose features are an arrival's now
	Forgets      int `json:"forgets,omitempty"`       // ids that were to be forgotten
	Forgotten    int `json:"forgotten,omitempty"`     // nodes of the graph, and arrivals, that were
	Removed      int `json:"removed,omitempty"`       // of these, nodes of the graph
	RemovedEdges int `json:"removed_edges,omitempty"` // entries that named a forgotten id
	// Refused are records that are not arrivals that the model can take, by event's reasons.
	Refused map[string]int `json:"refused,omitempty"`

	EdgeRecords  int `json:"edge_records,omitempty"`  // edges that came as records of their own
	Edges        int `json:"edges"`                   // undirected edges that came with the arrivals, or by themselves
	OldEdges     int `json:"old_edges,omitempty"`     // of these, edges between nodes that the graph had
	Heavier      int `json:"heavier_edges,omitempty"` // edges of before that have a larger weight now
	UnknownTypes int `json:"unknown_types,omitempty"` // entries without a type that the graph's edges have
	UnknownEdges int `json:"unknown_edges"`           // entries of edge lists with unknown ids
	DroppedEdges int `json:"dropped_edges"`           // entries that name the arrival itself or a neighbour twice

	WaitedEdges    int `json:"waited_edges"`                // entries of earlier merges whose unknown id has arrived
	WaitingEdges   int `json:"waiting_edges"`               // entries, of all merges, that wait for their id now
	NewWaiting     int `json:"new_waiting_edges,omitempty"` // of these, entries of this merge
	ForgottenEdges int `json:"forgotten_edges"`             // entries that wait no more, because too many do

	Labels        int            `json:"labels"`         // records that are labels
	NewLabels     int            `json:"new_labels"`     // unlabelled nodes of T that became training nodes
	Relabelled    int            `json:"relabelled"`     // nodes whose class came from a label and is another one now
	LabelConflict int            `json:"label_conflict"` // labels of other training nodes with another class
	LabelHeldOut  int            `json:"label_held_out"` // of validation and test nodes
	LabelUnknown  int            `json:"label_unknown"`  // of unknown ids
	UnknownClass  map[string]int `json:"unknown_class,omitempty"`
	LabelRefused  map[string]int `json:"label_refused,omitempty"` // records that are not labels, by reason
}

// Print writes the report as text, without counts of 0.
func (r *Report) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "arrivals\t%d, of which %d joined T, %d with a class\n", r.Arrivals, r.Joined, r.Labelled)
	list := func(name string, parts ...string) {
		if parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" }); len(parts) > 0 {
			fmt.Fprintf(t, "%s\t%s\n", name, strings.Join(parts, ", "))
		}
	}
	list("left out", some(r.InT, "in T already"), some(r.HeldOut, "validation or test nodes"),
		some(r.Again, "arrived again"), counts(r.Refused))
	list("features", some(r.Updated, "nodes have those of a later arrival"))
	if r.Forgets > 0 {
		list("forgotten", fmt.Sprintf("%d of %d ids", r.Forgotten, r.Forgets), some(r.Removed, "of the graph"),
			some(r.RemovedEdges, "entries of edge lists"))
	}
	list("edges", fmt.Sprintf("%d new", r.Edges), some(r.OldEdges, "of these between nodes of before"),
		some(r.EdgeRecords, "records of their own"), some(r.Heavier, "of before with a larger weight"),
		some(r.UnknownEdges, "to unknown ids"), some(r.UnknownTypes, "of unknown types"),
		some(r.DroppedEdges, "to oneself or repeated"))
	if r.WaitedEdges+r.WaitingEdges+r.ForgottenEdges > 0 {
		list("edges to ids not yet arrived", some(r.WaitedEdges, "found theirs"), some(r.WaitingEdges, "wait"),
			some(r.ForgottenEdges, "forgotten"))
	}
	if r.Labels > 0 || len(r.LabelRefused) > 0 {
		list("labels", fmt.Sprintf("%d read", r.Labels), some(r.NewLabels, "of unlabelled nodes of T"),
			some(r.Relabelled, "changed a class that came from a label"),
			some(r.LabelConflict, "against the class in T"),
			some(r.LabelHeldOut, "of validation or test nodes"), some(r.LabelUnknown, "of unknown ids"),
			counts(r.LabelRefused))
	}
	list("labels of unknown classes", counts(r.UnknownClass))
	return t.Flush()
}

func some(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, what)
}

func counts(of map[string]int) string {
	parts := make([]string, 0, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%d %s", of[name], name))
	}
	return strings.Join(parts, ", ")
}

// Changed reports whether the data have changed so that training anew may give another model.
func (r *Report) Changed() bool {
	return r.Joined+r.NewLabels+r.Relabelled+r.Removed+r.RemovedEdges+r.OldEdges+r.Heavier+r.NewWaiting+
		r.Updated > 0
}
