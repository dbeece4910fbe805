package run

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/test/expect"
)

// From Kafka to Kafka, by both ways to deliver: what one consumer has predicted, another one, of another model,
// attaches to.
func TestArrivalsAttachToArrivals(t *testing.T) {
	for _, delivery := range []string{"at_least_once", config.ExactlyOnce} {
		t.Run(delivery, func(t *testing.T) {
			b := growing(t, 9)
			cfg := stackOf(t, b)
			cfg.Delivery, cfg.Attach.Arrivals, cfg.Model = delivery, config.On, "sgc"
			first, batch := newcomers(b, 9)
			for _, p := range stream(t, cfg, first) {
				if p.Arrivals != 0 {
					t.Errorf("%s: %d neighbours that are arrivals before there were any", p.ID, p.Arrivals)
				}
			}

			// The second wave lists nodes of T, arrivals of the first one, one of its own micro-batch and nobody.
			cfg.Model = "gcn"
			second, later := newcomers(b, 4)
			grower, err := b.Grower(nil)
			expect.OK(t, err)
			grown := grower.Grow(batch)
			rows := make([][]attach.Row, len(second))
			for i := range second {
				second[i].ID = fmt.Sprintf("late-%d", i)
				for _, id := range second[i].Edges {
					rows[i] = append(rows[i], rowOf(t, b, id))
				}
				for j := range i {
					second[i].Edges = append(second[i].Edges, first[j].ID)
					rows[i] = append(rows[i], grown.Row(j))
				}
				second[i].Edges = append(second[i].Edges, "late-0", "nobody")
			}
			later.R, later.Known = attach.Attach(rows, b.Manifest.SyntheticNodes)
			v, _, err := serving.New(b, nil, serving.Options{Model: "gcn"})
			expect.OK(t, err)
			_, want := v.Predict(later)
			for i, p := range streamUntil(t, cfg, second, len(first)+len(second))[len(first):] {
				if p.ID != second[i].ID || p.Arrivals != i || p.Known != len(rows[i])-i || p.InBatch != 0 {
					t.Errorf("%s: %d known and %d arrivals, want %d and %d", p.ID, p.Known, p.Arrivals, len(rows[i])-i, i)
				}
				if diff := cmp.Diff(want.Row(i)[graph.ArgMax(want.Row(i))], p.Probability); diff != "" {
					t.Errorf("%s: probability (-computed +published):\n%s", p.ID, diff)
				}
			}
		})
	}
}

// A record with the id of an earlier arrival and other features is a new prediction, by these features. Its row of M,
// to which later arrivals attach, replaces the first one.
func TestASecondRecordOfAnID(t *testing.T) {
	b := growing(t, 9)
	some, _ := newcomers(b, 4)
	first, changed, later := some[1], some[1], some[3]
	changed.Features, later.Edges = some[2].Features, []string{first.ID}
	predicted := func(records ...event.Arrival) (p event.Prediction) {
		cfg := stackOf(t, b)
		cfg.Attach.Arrivals, cfg.Model, cfg.Output.Logits = config.On, "sgc", true
		for k := range records {
			p = streamUntil(t, cfg, records[k:k+1], k+1)[k]
		}
		return p
	}
	if diff := cmp.Diff(predicted(changed).Logits, predicted(first, changed).Logits); diff != "" {
		t.Errorf("the second record (-as the first one +after another):\n%s", diff)
	}
	if cmp.Equal(predicted(first).Logits, predicted(changed).Logits) {
		t.Error("other features change nothing")
	}
	want, got := predicted(changed, later), predicted(first, changed, later)
	if diff := cmp.Diff(want.Logits, got.Logits); diff != "" || got.Arrivals != 1 {
		t.Errorf("its neighbour, with %d arrivals (-without the first record +with it):\n%s", got.Arrivals, diff)
	}
	if cmp.Equal(want.Logits, predicted(first, later).Logits) {
		t.Error("the row does not depend on the features")
	}
}

// rowOf is the row of a node of T.
func rowOf(t *testing.T, b *artifact.Bundle, id string) attach.Row {
	t.Helper()
	rows := make([]attach.Row, 1)
	expect.OK(t, mapping.FromArtifact(b.Mapping).Rows(t.Context(), []string{id}, rows))
	return rows[0]
}
