package run

import (
	"strings"
	"testing"

	"rivulet/config"
	"rivulet/infer/attach"
)

// The words of the setting batch.mode are the names of the modes: none is refused, and none is left out.
func TestBatchModes(t *testing.T) {
	for _, m := range attach.Modes {
		cfg, err := config.Load[config.Consumer](config.Sources{Environ: []string{"RIVULET_BATCH_MODE=" + m.Name}})
		if err != nil || cfg.Batch.Mode != m.Name {
			t.Errorf("batch.mode is %q: %v", cfg.Batch.Mode, err)
		}
	}
	_, err := config.Load[config.Consumer](config.Sources{Environ: []string{"RIVULET_BATCH_MODE=neither"}})
	if err == nil {
		t.Fatal("any batch.mode is taken")
	}
	_, words, _ := strings.Cut(err.Error(), "want ")
	for _, word := range strings.FieldsFunc(strings.ReplaceAll(words, " or ", ","), func(r rune) bool { return r == ',' }) {
		if _, err := attach.ModeOf(strings.TrimSpace(strings.SplitN(strings.TrimSpace(word), "\n", 2)[0])); err != nil {
			t.Errorf("batch.mode takes a word that is no mode: %v (%s)", err, words)
		}
	}
	if got := config.Default[config.Consumer]().Batch.Mode; got != attach.Modes[0].Name {
		t.Errorf("the default of batch.mode is %s, the first mode is %s", got, attach.Modes[0])
	}
}
