package labels

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/form"
	"rivulet/internal/observe"
	"rivulet/test/expect"
)

// Records that are no labels are none in any way of reading them.
func TestHostile(t *testing.T) {
	for _, record := range Hostile {
		var l event.Label
		if err := (&form.Reader{}).Label(nil, record, &l); err == nil {
			t.Errorf("%.40q is the label %+v", record, l)
		}
	}
}

// counts returns the counts among the metrics of a consumer's observer.
func counts(t *testing.T, o *observe.Observer) Counts {
	t.Helper()
	families, err := o.Registry().Gather()
	expect.OK(t, err)
	metrics := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, label := range m.Label {
				name += fmt.Sprintf("{%s=%q}", label.GetName(), label.GetValue())
			}
			metrics[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return Of(metrics)
}

// Two consumers count labels of eight arrivals as the account has them; any other count is a violation.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		plant     func(is []Counts)
		again     bool // an arrival is predicted twice, by one consumer and then by the other
		violation string
	}{
		"all is well":                  {plant: func([]Counts) {}},
		"all is well, predicted again": {plant: func([]Counts) {}, again: true},
		"a label counted twice":        {plant: func(is []Counts) { is[0].Right++; is[0].Window++ }, violation: "counted 9"},
		"a label lost":                 {plant: func(is []Counts) { is[1].Wrong-- }, violation: "counted 7"},
		"a right one called wrong": {plant: func(is []Counts) { is[0].Right--; is[0].Wrong++ },
			violation: "3 right predictions of 8, want 4"},
		"the second of two labels counts": {plant: func(is []Counts) {
			is[0].Wrong += 2
			is[0].Right -= 2
		}, violation: "want 4"},
		"a hostile record passed over": {plant: func(is []Counts) { is[1].Refused-- }, violation: "refused 10"},
		"a label called none":          {plant: func(is []Counts) { is[0].Refused++ }, violation: "refused 12"},
		"unmatched without a label":    {plant: func(is []Counts) { is[0].Unmatched += 11 }, violation: "calls 13 of 10"},
		"another accuracy": {plant: func(is []Counts) {
			is[0].Accuracy += 0.01
		}, violation: "has an accuracy"},
		"another window":      {plant: func(is []Counts) { is[1].Window++ }, violation: "has an accuracy"},
		"counted three times": {again: true, plant: func(is []Counts) { is[1].Wrong++ }, violation: "counted 10"},
	} {
		var all []*observe.Observer
		for range 2 {
			all = append(all, observe.New(observe.Options{Version: func() string { return "v" },
				Labels: &observe.LabelOptions{Remember: 100, TTL: time.Hour}}))
		}
		read := func(labels []event.Label) {
			for i := range labels {
				all[0].Label(&labels[i])
				all[1].Label(&labels[i])
			}
		}
		l := new(Labels)
		was, before := []Counts{counts(t, all[0]), counts(t, all[1])}, l.Account()
		for n := range 2 * int(kinds) {
			own, labels := l.Next("a")
			if base, labelled := Base(own); base != "a" || !labelled {
				t.Fatalf("%s is labelled: %v, and repeats %s", own, labelled, base)
			}
			read(labels)
			p := event.Prediction{ID: own, Class: 1, ClassName: "x"}
			batch := consumer.BatchStats{Version: "v", Delivered: &event.Batch{Predictions: []event.Prediction{p}}}
			all[n%2].Batch(batch)
			read(l.Answered(&p))
			if n == 0 && c.again {
				all[1].Batch(batch)
				read(l.Answered(&p))
			}
		}
		for range Hostile {
			l.AddHostile()
			all[0].RefuseLabel()
			all[1].RefuseLabel()
		}
		is := []Counts{counts(t, all[0]), counts(t, all[1])}
		c.plant(is)
		got := strings.Join(Judge(before, l.Account(), was, is), "; ")
		if (got == "") != (c.violation == "") || !strings.Contains(got, c.violation) {
			t.Errorf("%s: %q, want %q", name, got, c.violation)
		}
	}
}
