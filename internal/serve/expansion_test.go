package serve

import (
	"fmt"
	"strings"
	"testing"

	"rivulet/artifact/artifacttest"
	"rivulet/infer/attach"
	"rivulet/serving"
	"rivulet/test/expect"
)

// The worst explanation is of neighbours with short ids whose rows of M have every synthetic node. What a byte of such
// an arrival becomes is bounded: by the parts of one explanation, and by the bytes of all answers under way.
func TestExplanationExpansion(t *testing.T) {
	const synthetic = 300
	b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 20, Synthetic: synthetic, Features: 3, Classes: 2})
	expect.OK(t, b.Seal())
	version := versionOf(t, b, serving.Options{})
	version.row = &attach.Row{Known: true}
	for k := range synthetic {
		version.row.Cols = append(version.row.Cols, int32(k))
		version.row.Vals = append(version.row.Vals, 1/(float32(k)+3))
	}
	arrival := func(neighbours int) string {
		var edges strings.Builder
		for k := range neighbours {
			fmt.Fprintf(&edges, ",%d", k+2) // 1 is the arrival itself
		}
		return `{"id":1,"features":[1,2,3],"edges":[` + edges.String()[1:] + `]}`
	}
	const most = 1 << 18 // parts of an explanation: neighbours, and synthetic nodes of each
	for _, c := range []struct {
		name       string
		queueBytes int64
		body       string
		status     int
		reason     string
	}{
		{"the largest", 128 << 20, arrival(most / (synthetic + 1)), 200, ""},
		{"one neighbour more", 128 << 20, arrival(most/(synthetic+1) + 1), 422, "too_large"},
		{"as many as an arrival may have", 128 << 20, arrival(10_000), 422, "too_large"},
		{"more than may be under way", 16 << 20, arrival(most / (synthetic + 1)), 413, "too_large"},
		{"more than may be under way, in parts", 16 << 20, "[" + strings.Repeat(","+arrival(100), 60)[1:] + "]", 413,
			"too_large"},
		{"as many as may be under way", 16 << 20, "[" + arrival(100) + "," + arrival(100) + "]", 200, ""},
	} {
		a := start(t, func(o *Options) {
			o.Path.Limits.Edges, o.Limits.QueueBytes = 10_000, c.queueBytes
		})
		a.version.now.Store(version)
		got := a.post(explainPath, c.body)
		if got.status != c.status || got.reason() != c.reason {
			t.Errorf("%s: %d %s: %.200s", c.name, got.status, got.reason(), got.body)
		}
		if got.status == 200 {
			factor := float64(len(got.body)) / float64(len(c.body))
			t.Logf("%s: a byte of %d becomes %.0f", c.name, len(c.body), factor)
			if perPart := len(got.body) / most; perPart > 200 {
				t.Errorf("%s: %d bytes a part", c.name, perPart)
			}
		}
		a.stop()
		if err := <-a.ended; err != nil {
			t.Error(err)
		}
		a.ended <- nil
		if left := a.server.bytes.inUse(); left != 0 {
			t.Errorf("%s: %d bytes are still reserved", c.name, left)
		}
	}
}
