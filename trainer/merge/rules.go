package merge

import (
	"errors"
	"time"

	"rivulet/event"
)

// Role is the role of a node, as far as merging goes.
type Role uint8

// Roles.
const (
	None Role = iota
	Train
	Unlabelled
	HeldOut // validation or test
)

// Node is a node of the data or of the arrivals.
type Node struct {
	Role     Role
	Class    int32 // of a training node
	Labelled bool  // its class came from a label
	Arrived  bool  // it has joined T as one of these arrivals
}

// Arrive counts an arrival with the id of the node (the zero Node: no node has it), and reports whether it joins T,
// as an unlabelled node.
func (n *Node) Arrive(r *Report) bool {
	switch {
	case n.Arrived:
		r.Again++
	case n.Role == Train || n.Role == Unlabelled:
		r.InT++
	case n.Role == HeldOut:
		r.HeldOut++
	default:
		*n = Node{Role: Unlabelled, Class: -1, Arrived: true}
		r.Joined++
		return true
	}
	return false
}

// Forget takes the node, or an arrival that has joined T, back, and counts it. inGraph: the graph has the node.
func (n *Node) Forget(inGraph bool, r *Report) {
	if n.Arrived {
		r.Joined--
	}
	if inGraph {
		r.Removed++
	}
	if n.Arrived || inGraph {
		r.Forgotten++
	}
	*n = Node{}
}

// Label gives the node the class of its latest label, once all arrivals are known, and counts the outcome. It reports
// whether role or class have changed.
func (n *Node) Label(class int32, r *Report) bool {
	switch n.Role {
	case HeldOut:
		r.LabelHeldOut++
	case None: // not in T, and it did not arrive
		r.LabelUnknown++
	case Train:
		switch {
		case n.Class == class:
		case n.Labelled:
			n.Class = class
			r.Relabelled++
			return true
		default:
			r.LabelConflict++
		}
	case Unlabelled:
		n.Role, n.Class, n.Labelled = Train, class, true
		if n.Arrived {
			r.Labelled++
		} else {
			r.NewLabels++
		}
		return true
	}
	return false
}

// earlier reports whether a label is earlier than one of the same node that was read before it, which then stays.
// Zero times are unknown.
func earlier(label, before time.Time) bool {
	return !label.IsZero() && !before.IsZero() && label.Before(before)
}

// Counter counts records. [Merger] has its methods.
type Counter struct {
	Report Report
}

func newCounter() Counter {
	return Counter{Report{Refused: map[string]int{}, UnknownClass: map[string]int{}, LabelRefused: map[string]int{}}}
}

// Dropped counts entries of edge lists that were dropped before their arrival was given to the merger.
func (c *Counter) Dropped(entries int) { c.Report.DroppedEdges += entries }

// Refuse counts a record that could not be decoded into an arrival, by the reason that the codec gave.
func (c *Counter) Refuse(err error) { c.Report.Refused[reason(err)]++ }

// RefuseLabel counts a record that could not be decoded into a label.
func (c *Counter) RefuseLabel(err error) { c.Report.LabelRefused[reason(err)]++ }

// Take counts an arrival; one whose features are not d numbers is counted as refused, and the error, an
// *event.FieldError, names the field.
func (c *Counter) Take(a *event.Arrival, d int) error {
	if err := a.Check(d, 0); err != nil {
		c.Refuse(err)
		return err
	}
	c.Report.Arrivals++
	return nil
}

// resolveLabel counts a label and returns the number of its answer; false if the graph cannot have it.
func (c *Counter) resolveLabel(l *event.Label, a *answers) (int32, bool) {
	c.Report.Labels++
	answer, known := a.resolve(l)
	if !known {
		c.Report.UnknownClass[l.Word()]++
	}
	return answer, known
}

func reason(err error) string {
	var field *event.FieldError
	if errors.As(err, &field) {
		return field.Reason
	}
	return event.ReasonUnparsable
}
