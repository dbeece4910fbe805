package stream

import (
	"strings"
	"testing"
)

// An edge of the table must be once under each of its ends, unless records were lost before it was read.
func TestEdgesOfTheTable(t *testing.T) {
	var all tables
	for range 4 {
		all.next()
	}
	for _, read := range [][2]int{{0, 0}, {0, 1}, {1, 0}, {2, 0}, {2, 1}, {2, 1}} {
		all.read(int64(read[0]), read[1])
	}
	if all.through() {
		t.Error("all is through, and edge 1 has one end, edge 3 none")
	}
	_, broken := all.judge()
	for i, want := range []string{"edge 1 of the table is 1 times under its source and 0 times",
		"edge 2 of the table is 1 times under its source and 2 times", "edge 3 of the table is 0 times"} {
		if len(broken) != 3 || !strings.Contains(broken[i], want) {
			t.Fatalf("%q, want 3, the one at %d with %q", broken, i, want)
		}
	}
	all.lose()
	if _, broken = all.judge(); len(broken) != 1 || !all.through() {
		t.Errorf("%q, want edge 2 alone, and all is through: %t", broken, all.through())
	}
}
