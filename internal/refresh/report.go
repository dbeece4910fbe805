package refresh

import (
	"fmt"
	"io"

	"rivulet/trainer/merge"
)

// Report describes one round.
type Report struct {
	Merged    merge.Report `json:"merged"`
	Nodes     int          `json:"nodes"` // N of the graph of the training
	Artifact  string       `json:"artifact,omitempty"`
	Version   string       `json:"artifact_version,omitempty"`
	Before    string       `json:"before,omitempty"` // version with which it was compared
	Accuracy  *float64     `json:"validation,omitempty"`
	Was       *float64     `json:"validation_before,omitempty"`
	Data      string       `json:"data,omitempty"` // directory of the data set with its arrivals
	Published bool         `json:"published"`
	Committed bool         `json:"committed"` // the group's offsets

	Finished string `json:"finished,omitempty"` // version of an earlier refresh, which was published only now
	Gone     int64  `json:"gone,omitempty"`     // records that the topic has lost before a refresh read them
}

// add adds the steps that this refresh did for an earlier one.
func (o *Report) add(finished *Report) {
	o.Finished = finished.Finished
	if o.Version != "" {
		return
	}
	o.Version, o.Artifact, o.Data, o.Published, o.Committed = finished.Version, finished.Artifact, finished.Data,
		finished.Published, finished.Committed
	o.Before, o.Accuracy, o.Was = finished.Before, finished.Accuracy, finished.Was
}

// left describes the steps that a stopped refresh has done, and the next refresh's first action.
func (o *Report) left() string {
	switch {
	case o == nil || (o.Artifact == "" && o.Data == ""):
		return "nothing was stored, published or committed; the next refresh begins where this one did"
	case o.Data == "" && !o.Published:
		return fmt.Sprintf("the artifact is in %s, the graph with its arrivals was not stored, and nothing was published "+
			"or committed; the next refresh reads the same arrivals again", o.Artifact)
	}
	graph, published, next := "the graph with its arrivals was not stored", "it is not published",
		"reads the same arrivals again"
	if o.Data != "" {
		graph, next = "the graph with its arrivals is in "+o.Data, "goes on from there"
	}
	if o.Published {
		published = o.Version + " is CURRENT"
	}
	committed := "offsets are not committed"
	if o.Committed {
		committed = "offsets are committed"
	}
	return fmt.Sprintf("%s, %s, %s; the next refresh %s", graph, published, committed, next)
}

// Print writes the report as text.
func (o *Report) Print(w io.Writer) error {
	if o.Finished != "" {
		fmt.Fprintf(w, "%s of an earlier refresh, which had not published it, is CURRENT\n", o.Finished)
	}
	if o.Gone > 0 {
		fmt.Fprintf(w, "%d records are gone from the topic before a refresh has read them\n", o.Gone)
	}
	if err := o.Merged.Print(w); err != nil {
		return err
	}
	if o.Artifact == "" {
		_, err := fmt.Fprintln(w, "nothing new: no artifact was made")
		return err
	}
	fmt.Fprintf(w, "artifact %s of %d nodes in %s\n", o.Version, o.Nodes, o.Artifact)
	if o.Accuracy != nil {
		fmt.Fprintf(w, "validation: %.2f%%", *o.Accuracy)
		if o.Was != nil {
			fmt.Fprintf(w, ", %s has %.2f%%", o.Before, *o.Was)
		}
		fmt.Fprintln(w)
	}
	if o.Data != "" {
		fmt.Fprintf(w, "data with arrivals in %s\n", o.Data)
	}
	if o.Published {
		fmt.Fprintf(w, "%s is CURRENT\n", o.Version)
	}
	return nil
}
