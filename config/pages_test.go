package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"rivulet/internal/cli/clitest"
	"rivulet/test/expect"
)

// Each block of settings in a page is one that the programs take. Blocks of other programs have other keys at the top.
func TestSettingsInPages(t *testing.T) {
	sections := map[string]bool{}
	for _, f := range schemaOf(reflect.TypeFor[all]()).fields {
		section, _, _ := strings.Cut(f.key, ".")
		sections[section] = true
	}
	pages, err := filepath.Glob("../*/*.md")
	expect.OK(t, err)
	checked := 0
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		expect.OK(t, err)
		for k, block := range clitest.Blocks(string(text), "yaml") {
			var keys map[string]any
			if err := yaml.Unmarshal([]byte(block), &keys); err != nil {
				t.Errorf("%s: block %d: %v", page, k, err)
			}
			ours := len(keys) > 0
			for key := range keys {
				ours = ours && sections[key]
			}
			if !ours {
				continue
			}
			checked++
			file := filepath.Join(t.TempDir(), "settings.yaml")
			expect.OK(t, os.WriteFile(file, []byte(block), 0o600))
			from := Sources{Environ: []string{fileVariable + "=" + file}}
			_, consumer := Load[Consumer](from)
			_, serve := Load[Serve](from)
			if consumer != nil || serve != nil {
				t.Errorf("%s: the block is refused: consumer: %v; serve: %v\n%s", page, consumer, serve, block)
			}
		}
	}
	if checked < 8 {
		t.Errorf("%d blocks of settings were found, want those of connectors, cloud, edges, recipes and serve", checked)
	}
}
