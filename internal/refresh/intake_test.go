package refresh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/event"
	"rivulet/schema"
	"rivulet/test/expect"
	"rivulet/trainer/merge"
)

// numbers stores under n17 the feature 17, and nothing under ids that end with 7 or are in no such form.
type numbers struct {
	named   bool
	asked   []int // ids of each request
	failing int   // requests that fail before one succeeds
}

func (s *numbers) Read(_ context.Context, ids []string, into []*event.Features, faults []*event.FieldError) error {
	if s.failing--; s.failing >= 0 {
		*into[0] = event.Features{Values: []float32{-1}} // what had come when the connection broke
		return errors.New("connection refused")
	}
	s.asked = append(s.asked, len(ids))
	for i, id := range ids {
		var v float64
		if _, err := fmt.Sscanf(id, "n%f", &v); err != nil || strings.HasSuffix(id, "7") {
			faults[i] = &event.FieldError{Reason: event.ReasonFeaturesAbsent, Field: "features", Detail: "nothing is stored"}
			continue
		}
		if *into[i] = (event.Features{Values: []float32{float32(v)}}); s.named {
			*into[i] = event.Features{Named: []schema.Field{{Name: "x", Value: schema.Value{Type: schema.Number, Number: v}}}}
		}
	}
	return nil
}

// A refresh asks for the features of many arrivals at once, also by name and after the store was away, and merges
// what it would have merged had the arrivals brought them.
func TestFeaturesAreLookedUpTogether(t *testing.T) {
	t.Parallel()
	const n = 2*intakeRecords + 100
	var brought, bare strings.Builder
	absent := 0
	for i := range n {
		id, edges := fmt.Sprintf("n%d", i%(n-50)), fmt.Sprintf(`"edges":["a","n%d","a"]`, i/2) // 50 ids come twice
		fmt.Fprintf(&bare, `{"id":%q,%s}`+"\n", id, edges)
		if strings.HasSuffix(id, "7") {
			absent++
		} else {
			fmt.Fprintf(&brought, `{"id":%q,"features":[%d],%s}`+"\n", id, i%(n-50), edges)
		}
		if i%500 == 0 {
			bare.WriteString("{\n")
			brought.WriteString("{\n")
		}
	}
	want := mergedOf(t, brought.String(), nil)
	want.Refused[event.ReasonFeaturesAbsent] = absent
	for name, store := range map[string]*numbers{"positions": {}, "names": {named: true}, "away": {failing: 2}} {
		got := mergedOf(t, bare.String(), store)
		expect.Same(t, want, got, "%s", name)
		requests := 3
		if store.named {
			requests++ // the first again, by the schema
		}
		if len(store.asked) != requests {
			t.Errorf("%s: requests of %d ids, want %d", name, store.asked, requests)
		}
	}
}

// mergedOf merges JSON lines into a pair, and returns the report and the fingerprint of the graph.
func mergedOf(t *testing.T, lines string, store *numbers) merge.Report {
	t.Helper()
	file := filepath.Join(t.TempDir(), "arrivals.jsonl")
	expect.OK(t, os.WriteFile(file, []byte(lines), 0o600))
	data := pair()
	var err error
	if data.Schema, err = schema.Parse([]byte(
		`{"schema_version":1,"seed":0,"features":[{"name":"x","kind":"number","missing":"zero","mean":[0]}]}`)); err != nil {
		t.Fatal(err)
	}
	g, err := NewGraph("", data)
	expect.OK(t, err)
	r := &round{Refresher: &Refresher{Graph: g, Arrivals: Source{File: file}}}
	if store != nil {
		r.Features = store
	}
	m := merge.New(g.Dataset)
	if err := r.read(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	grown, report, err := m.Grow(t.Context(), true)
	expect.OK(t, err)
	report.Refused["fingerprint "+grown.Fingerprint()] = 1
	return report
}
