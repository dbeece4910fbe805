package build

import (
	"runtime/debug"
	"testing"
)

func TestRead(t *testing.T) {
	found := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v1.3.0"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "3f9c1a2b"}, {Key: "vcs.modified", Value: "true"}}}
	for _, c := range []struct {
		found           *debug.BuildInfo
		version, commit string
		want            string
	}{
		{found, "", "", "v1.3.0, commit 3f9c1a2b+dirty, go1.26.8"},
		{found, "1.4.0", "c0ffee", "1.4.0, commit c0ffee, go1.26.8"},
		{&debug.BuildInfo{}, "", "", "unknown, commit unknown, unknown"},
	} {
		if got := read(c.found, c.version, c.commit).String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if i := Read(); i.Go == Unknown {
		t.Errorf("this test was built by Go %s", i.Go)
	}
}
