package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		body string
		n    int // −1: an error
		many bool
	}{
		{`{"id":1}`, 1, false}, {` "x" `, 1, false}, {`[]`, 0, true}, {" [ \n] ", 0, true}, {`[1]`, 1, true},
		{`[1,[2,3],{"a":[4,5]}]`, 3, true},
		{`["a,b]","\"],"]`, 2, true}, {`[NaN,{"x":NaN}]`, 2, true},
		{``, -1, false}, {`[`, -1, true}, {`[1,]`, -1, true}, {`[,1]`, -1, true}, {`[1}`, -1, true}, {`[1]]`, -1, true},
		{`["a]`, -1, true}, {`[1,,2]`, -1, true},
	} {
		parts, many, err := split([]byte(c.body), 3)
		if (err != nil) != (c.n < 0) || c.n >= 0 && (len(parts) != c.n || many != c.many) {
			t.Errorf("%s: %d parts, %v, %v", c.body, len(parts), many, err)
		}
	}
	if _, _, err := split([]byte(`[1,2,3,4]`), 3); !errors.Is(err, errTooMany) {
		t.Error(err)
	}
}

// Valid JSON is split where encoding/json splits it.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{`[1,"a,]\"",{"b":[1,2]}]`, `{"id":1}`, `[[],[[]],{}]`, `[NaN]`, ` [ ] `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		parts, many, err := split(body, len(body)+1)
		for _, p := range parts {
			if len(p) == 0 || len(p) > len(body) {
				t.Fatalf("part %q", p)
			}
		}
		if !json.Valid(body) {
			return
		}
		if err != nil {
			t.Fatalf("valid JSON is refused: %v", err)
		}
		var want []json.RawMessage
		if !many {
			want = append(want, bytes.TrimSpace(body))
		} else if err := json.Unmarshal(body, &want); err != nil {
			t.Fatal(err)
		}
		if len(parts) != len(want) {
			t.Fatalf("%d parts of %s, want %d", len(parts), body, len(want))
		}
		for i := range want {
			if !bytes.Equal(parts[i], bytes.TrimSpace(want[i])) {
				t.Fatalf("part %d is %s, want %s", i, parts[i], want[i])
			}
		}
	})
}
