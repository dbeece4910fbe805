package config

import (
	"testing"
	"time"

	"rivulet/test/expect"
)

func TestWaitForEdges(t *testing.T) {
	cfg, err := Load[Consumer](sources(t, "attach: {wait: 2s, max_ahead: 7s, wait_bytes: 1MiB, unmatched: drop}\n"+
		"input: {mapping: {source: /from, target: /to}}", nil))
	if err != nil || cfg.Attach.Wait != 2*time.Second || cfg.Attach.WaitBytes != 1<<20 || cfg.Attach.Unmatched != Drop ||
		cfg.Attach.MaxAhead != 7*time.Second {
		t.Errorf("%+v, %v", cfg.Attach, err)
	}
	for text, want := range map[string]string{
		"attach: {wait_bytes: 1KiB}":        "attach.wait_bytes",
		"attach: {max_ahead: 0s}":           "attach.max_ahead",
		"attach: {unmatched: keep}":         "attach.unmatched",
		"input: {mapping: {source: /from}}": "want source and target",
		"input: {mapping: {weight: /w}}":    "want source and target",
		"cache: {directory: rows}":          "cache.directory",
	} {
		expect.Error(t, expect.ErrorOf(Load[Consumer](sources(t, text, nil))), want, "%s", text)
	}
}
