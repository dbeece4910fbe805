package versions

import (
	"bytes"
	"testing"
	"time"

	"rivulet/serving"
)

// The names of versions --json are an interface: a test that fails here would break somebody's script.
func TestVersionsAsJSON(t *testing.T) {
	var out bytes.Buffer
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.FixedZone("", 3600))
	err := writeVersions(&out, []serving.VersionInfo{
		{Version: "v1", State: serving.Complete, Serial: 3, Content: "ab", Current: true, Rows: 30, Synthetic: 6,
			FileBytes: 99,
			Holders:   []string{"c1"}, Begun: at, Published: at, LastServed: at},
		{Version: "v2", State: serving.Writing, Serial: 4},
	})
	want := `[{"version":"v1","state":"complete","current":true,"serial":3,"content":"ab","rows":30,"synthetic_nodes":6,` +
		`"file_bytes":99,"holders":["c1"],"begun":"2026-11-21T08:30:00Z","published":"2026-11-21T08:30:00Z",` +
		`"last_served":"2026-11-21T08:30:00Z"},{"version":"v2","state":"writing","current":false,"serial":4,"rows":0,` +
		`"synthetic_nodes":0,"file_bytes":0,"holders":[]}]` + "\n"
	if err != nil || out.String() != want {
		t.Errorf("error %v, got\n%swant\n%s", err, out.String(), want)
	}
}
