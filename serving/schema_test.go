package serving

import (
	"testing"

	"rivulet/artifact/artifacttest"
	"rivulet/schema"
	"rivulet/test/expect"
)

// The schema of an artifact goes through Redis to the version that serves.
func TestSchemaIsPublishedAndLoaded(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		of, err := schema.Parse([]byte(
			`{"schema_version":1,"seed":0,"features":[{"name":"a","kind":"text","missing":"zero","buckets":7}]}`))
		expect.OK(t, err)
		b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 300, Synthetic: 12, Features: of.Width(), Classes: 4})
		b.Schema = of
		s.publish(t, sealed(t, b, "v1"))
		_, v := s.following(t, "consumer", Options{})
		if got := v.Info().Schema; got == nil || got.Hash() != of.Hash() {
			t.Errorf("the version has the schema %v", got)
		}
	})
}
