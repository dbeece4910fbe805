package consumer

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"rivulet/infer/attach"
)

// graphOf is a mapping whose T has ids with a row each, of which some cannot be read.
type graphOf map[string]attach.Row

var errAway = errors.New("Redis is away")

func (g graphOf) Rows(_ context.Context, ids []string, rows []attach.Row) error {
	seen := map[string]bool{}
	for i, id := range ids {
		if id == "away" {
			return errAway
		}
		if seen[id] {
			return fmt.Errorf("%s is looked up twice", id)
		}
		rows[i], seen[id] = g[id], true
	}
	return nil
}

// An edge is old if both of its ends are other nodes of T whose rows can be read, also empty ones.
func TestOldEdges(t *testing.T) {
	g := graphOf{"a": {Known: true, Cols: []int32{0}, Vals: []float32{1}}, "b": {Known: true}, "damaged": {Unread: true}}
	for name, c := range map[string]struct {
		ends [][2]string
		want int
		err  error
	}{
		"none":               {},
		"both ends":          {ends: [][2]string{{"a", "b"}}, want: 1},
		"each record counts": {ends: [][2]string{{"a", "b"}, {"b", "a"}, {"a", "b"}}, want: 3},
		"one end":            {ends: [][2]string{{"a", "x"}, {"x", "b"}, {"x", "y"}}},
		"to itself":          {ends: [][2]string{{"a", "a"}}},
		"a row is damaged":   {ends: [][2]string{{"a", "damaged"}, {"b", "a"}}, want: 1},
		"Redis is away":      {ends: [][2]string{{"a", "b"}, {"a", "away"}}, err: errAway},
	} {
		if got, err := countOldEdges(t.Context(), c.ends, g); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %d edges, %v, want %d, %v", name, got, err, c.want, c.err)
		}
	}
}
