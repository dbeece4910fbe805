package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset/table"
	"rivulet/test/expect"
)

func streamed(t *testing.T, nodes, edges string) (*table.Stream, bool, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"nodes.csv": nodes, "edges.csv": edges} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return OpenStream(dir, OpenOptions{})
}

// all are the rows of a stream as text, or the error.
func all(s *table.Stream) string {
	var out []string
	err := s.EachNode(func(n table.Node) error {
		out = append(out, fmt.Sprintf("%d %s/%s/%s %v", n.Row, n.ID, n.Label, n.Split, n.Features))
		return nil
	})
	if err == nil {
		err = s.EachEdge(func(e table.Edge) error {
			out = append(out, fmt.Sprintf("%d %s-%s", e.Row, e.Source, e.Target))
			return nil
		})
	}
	if err != nil {
		out = append(out, err.Error())
	}
	return strings.Join(out, "; ")
}

func TestStreamRows(t *testing.T) {
	s, ok, err := streamed(t, "id,x,y,label,split\n17,1,2.5,A,train\nb,0,-1,,unlabelled\nc,3,4,B,\n",
		"source,target\n17,b\nb,17\n")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if s.Rows != 3 || s.Features != 2 || s.Identity == "" {
		t.Errorf("%d rows of %d features, %q", s.Rows, s.Features, s.Identity)
	}
	const want = "1 17/A/train [1 2.5]; 2 b//unlabelled [0 -1]; 3 c/B/ [3 4]; 1 17-b; 2 b-17"
	if diff := cmp.Diff(want, all(s)); diff != "" {
		t.Error(diff)
	}
}

func TestStreamRefuses(t *testing.T) {
	const edges = "source,target\na,b\n"
	for nodes, want := range map[string]string{
		"id,x,split\na,1,train\n":        "label",
		"x,label,split\n1,A,train\n":     "id",
		"id,x,label,split\n":             "there are no nodes",
		"id,x,x,label,split\na,1,1,A,\n": "x",
	} {
		if _, _, err := streamed(t, nodes, edges); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", nodes, err, want)
		}
	}
	for nodes, want := range map[string]string{
		"id,x,label,split\na,1,A,train\nb,,A,train\n":  "nodes.csv: line 3: column x",
		"id,x,label,split\na,1,A,train\nb,1,A,learn\n": "learn",
		"id,x,label,split\na,1,A,train\nb,1,,train\n":  "column label: it is empty",
	} {
		s, ok, err := streamed(t, nodes, edges)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if got := all(s); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %q", nodes, got, want)
		}
	}
	s, ok, err := streamed(t, "id,x,label,split\na,1,A,train\n", "source,target,weight\na,a,2\n")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if got := all(s); !strings.Contains(got, "column weight: it is 2, want 1") {
		t.Errorf("a weight: %s", got)
	}
}

// Data that need the whole table are none to stream.
func TestStreamIsForNumbersAndASplit(t *testing.T) {
	const edges = "source,target\na,b\n"
	for _, nodes := range []string{"id,x,label\na,1,A\n", "id,x,label,split\na,red,A,train\n"} {
		if s, ok, err := streamed(t, nodes, edges); ok || err != nil {
			t.Errorf("%q: %v %v %v", nodes, s, ok, err)
		}
	}
}
