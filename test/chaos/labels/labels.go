// Package labels labels arrivals that have ids of their own, and judges what consumers count of the labels.
//
// A consumer reads all labels and compares them with its own predictions (package observe). Labels come before and
// after their predictions, twice, and as records that are no labels; the arrivals among them are predicted while
// consumers, brokers and Redis break. As an arrival has an id that no other one has, each of its predictions has one
// right count, which the account of the labels knows.
package labels

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"rivulet/event"
)

// kind is the way in which an arrival is labelled. Arrivals take turns.
type kind int

const (
	right   kind = iota // after its prediction, with the class of that
	wrong               // after its prediction, with a class that no model has
	early               // before the arrival is sent, with such a class
	doubled             // right, and then wrong: only the first label counts
	kinds
)

// noClass is the name of a class that no model has.
const noClass = "a class that no model has"

// Hostile are records that are no labels.
var Hostile = [][]byte{nil, {}, {0xff, 0, 0x80}, []byte(`{"id":"x"}`), []byte(`{"id":"","class":1}`), []byte(`[]`),
	[]byte(`{"id":"x","class":-1}`), []byte(`{"id":"x","class":1e3}`), []byte(`{"id":"x","class":1`),
	[]byte(strings.Repeat(`{"id":`, 10_000)), []byte(`{"id":"x","class":NaN}`)}

// Labels has the labelled arrivals of one stream.
type Labels struct {
	mu      sync.Mutex
	answers []int // predictions that were read, by arrival
	labels  int
	hostile int
}

// mark stands between the id of an arrival and the number that makes it its own.
const mark = "~label-"

// Base returns the id of the arrival that a labelled one repeats; any other id is returned as it is.
func Base(id string) (base string, labelled bool) {
	base, _, labelled = strings.Cut(id, mark)
	return base, labelled
}

// Next returns the id of the next arrival, which repeats another one, and the labels that are sent before it.
func (l *Labels) Next(id string) (own string, before []event.Label) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.answers)
	l.answers = append(l.answers, 0)
	own = id + mark + strconv.Itoa(n)
	if kind(n)%kinds == early {
		before = l.sent(own, event.Label{Class: event.ByName, ClassName: noClass})
	}
	return own, before
}

// Answered takes a prediction that was read, and returns the labels that are sent now.
func (l *Labels) Answered(p *event.Prediction) []event.Label {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, number, labelled := strings.Cut(p.ID, mark)
	n, err := strconv.Atoi(number)
	if !labelled || err != nil || n >= len(l.answers) {
		return nil
	}
	if l.answers[n]++; l.answers[n] > 1 {
		return nil
	}
	predicted := event.Label{Class: p.Class}
	if p.ClassName != "" {
		predicted = event.Label{Class: event.ByName, ClassName: p.ClassName}
	}
	another := event.Label{Class: event.ByName, ClassName: noClass}
	switch kind(n) % kinds {
	case right:
		return l.sent(p.ID, predicted)
	case wrong:
		return l.sent(p.ID, another)
	case doubled:
		return l.sent(p.ID, predicted, another)
	}
	return nil
}

// sent gives labels their id and counts them.
func (l *Labels) sent(id string, all ...event.Label) []event.Label {
	for i := range all {
		all[i].ID = strings.Clone(id)
	}
	l.labels += len(all)
	return all
}

// AddHostile counts a record that is no label, and returns it.
func (l *Labels) AddHostile() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hostile++
	return Hostile[l.hostile%len(Hostile)]
}

// Account is what was sent, and what consumers must have counted of it.
type Account struct {
	Right, Wrong int // predictions that were read at least once, by the result of their first label
	Again        int // further predictions of the same arrivals: another consumer may count them as well
	Open         int // arrivals without a prediction
	Labels       int
	Hostile      int
}

// Account returns the account up to now.
func (l *Labels) Account() (a Account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.Labels, a.Hostile = l.labels, l.hostile
	for n, answers := range l.answers {
		switch k := kind(n) % kinds; {
		case answers == 0:
			a.Open++
			continue
		case k == right || k == doubled:
			a.Right++
		default:
			a.Wrong++
		}
		a.Again += answers - 1
	}
	return a
}

// Counts are the metrics of one consumer.
type Counts struct {
	Started                          float64 // when the process began: a new one counts from 0
	Right, Wrong, Unmatched, Refused float64
	Window, Accuracy                 float64
}

// Of returns the counts among the metrics of a consumer.
func Of(metrics map[string]float64) Counts {
	total := func(result string) float64 { return metrics[`rivulet_labels_total{result="`+result+`"}`] }
	return Counts{Started: metrics["process_start_time_seconds"], Right: total("right"), Wrong: total("wrong"),
		Unmatched: total("unmatched"), Refused: total("refused"), Window: metrics["rivulet_window_labels"],
		Accuracy: metrics["rivulet_window_accuracy_ratio"]}
}

// smallestWindow is how many of the last labelled predictions the metrics of a window describe at least.
const smallestWindow = 3840

// Judge compares the counts of the consumers of a group, before and after some labels, with the account. Nothing else
// was sent meanwhile, and each process is the same. Right and wrong add up over the consumers; the other counts are of
// each, as all of them read all labels.
func Judge(before, after Account, was, is []Counts) (violations []string) {
	violated := func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) }
	var counted, right float64
	for i := range is {
		right += is[i].Right - was[i].Right
		counted += is[i].Right + is[i].Wrong - was[i].Right - was[i].Wrong
		if refused := is[i].Refused - was[i].Refused; refused != float64(after.Hostile-before.Hostile) {
			violated("consumer %d refused %v records of %d that are no labels", i, refused, after.Hostile-before.Hostile)
		}
		if is[i].Unmatched-was[i].Unmatched > float64(after.Labels-before.Labels) {
			violated("consumer %d calls %v of %d labels unmatched", i, is[i].Unmatched-was[i].Unmatched,
				after.Labels-before.Labels)
		}
		all := is[i].Right + is[i].Wrong
		if all > 0 && all <= smallestWindow && (is[i].Window != all || math.Abs(is[i].Accuracy-is[i].Right/all) > 1e-9) {
			violated("consumer %d has an accuracy of %v of %v labels, and %v right ones of %v", i, is[i].Accuracy, is[i].Window,
				is[i].Right, all)
		}
	}
	again, wantRight := after.Again-before.Again, after.Right-before.Right
	want := wantRight + after.Wrong - before.Wrong
	switch {
	case counted < float64(want) || counted > float64(want+again):
		violated("consumers counted %v labelled predictions, want %d to %d", counted, want, want+again)
	case again == 0 && right != float64(wantRight):
		violated("consumers counted %v right predictions of %v, want %d", right, counted, wantRight)
	}
	return violations
}
