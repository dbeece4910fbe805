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
}

// Print writes the report as text.
func (o *Report) Print(w io.Writer) error {
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
