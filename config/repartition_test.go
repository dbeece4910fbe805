package config

import (
	"strings"
	"testing"
)

// The topics of a repartition are other topics than the consumer's, each is named once, and edges need attach.wait.
func TestRepartition(t *testing.T) {
	for name, c := range map[string]struct {
		environ []string
		wrong   []string // how the problems begin
	}{
		"two tables": {environ: []string{"RIVULET_REPARTITION_NODES=accounts", "RIVULET_REPARTITION_EDGES=a,b",
			"RIVULET_ATTACH_WAIT=1s"}},
		"nobody waits": {environ: []string{"RIVULET_REPARTITION_EDGES=transfers"}, wrong: []string{"attach.wait is 0s"}},
		"a circle": {environ: []string{"RIVULET_REPARTITION_NODES=arrivals"},
			wrong: []string{"the settings name this topic"}},
		"twice": {environ: []string{"RIVULET_REPARTITION_NODES=a,a", "RIVULET_REPARTITION_EDGES=a",
			"RIVULET_ATTACH_WAIT=1s"}, wrong: []string{"the settings name this topic", "the settings name this topic"}},
		"no name": {environ: []string{"RIVULET_REPARTITION_NODES=a b"}, wrong: []string{`"a b": want 1 to 249`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load[Consumer](Sources{Environ: c.environ})
			if (err == nil) != (c.wrong == nil) {
				t.Fatal(err)
			}
			for _, want := range c.wrong {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
			}
			if err != nil && strings.Count(err.Error(), "repartition.") < len(c.wrong) {
				t.Errorf("%v", err)
			}
		})
	}
}
