package event_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"rivulet/event"
	"rivulet/event/read"
	"rivulet/test/expect"
)

// asyncAPI has the parts of asyncapi.yaml that are compared with the code.
type asyncAPI struct {
	Channels map[string]struct {
		Address  string
		Messages map[string]struct {
			Ref string `yaml:"$ref"`
		}
	}
	Operations map[string]struct {
		Action  string
		Channel struct {
			Ref string `yaml:"$ref"`
		}
	}
	Components struct {
		Messages map[string]struct {
			Name        string
			ContentType string `yaml:"contentType"`
			Schema      string `yaml:"x-schema"`
			Headers     struct {
				Ref string `yaml:"$ref"`
			}
			Payload struct {
				Schema struct {
					Ref string `yaml:"$ref"`
				}
			}
		}
		Schemas map[string]struct {
			Required   []string
			Properties map[string]any
		}
	}
}

// asyncapi.yaml describes every schema of this package under its own form, and the headers that records have.
func TestAsyncAPI(t *testing.T) {
	text, err := os.ReadFile("asyncapi.yaml")
	expect.OK(t, err)
	var d asyncAPI
	expect.OK(t, yaml.Unmarshal(text, &d))
	used := map[string]bool{} // messages of channels, and channels of operations
	for name, c := range d.Channels {
		for _, m := range c.Messages {
			used[m.Ref] = true
		}
		if !strings.Contains(string(text), `channel: {$ref: "#/channels/`+name+`"}`) || c.Address == "" {
			t.Errorf("channel %s has no address, or no operation", name)
		}
	}
	for name, o := range d.Operations {
		if _, there := d.Channels[strings.TrimPrefix(o.Channel.Ref, "#/channels/")]; !there {
			t.Errorf("operation %s is of %s, which is not there", name, o.Channel.Ref)
		}
	}
	files := map[string]bool{}
	for name, m := range d.Components.Messages {
		if !used["#/components/messages/"+name] {
			t.Errorf("message %s is in no channel", name)
		}
		headers := strings.TrimPrefix(m.Headers.Ref, "#/components/schemas/")
		if _, there := d.Components.Schemas[headers]; !there && headers != "" {
			t.Errorf("message %s has headers %s, which are not there", name, m.Headers.Ref)
		}
		if m.Name == "DeadLetter" { // it has the arrival's payload
			continue
		}
		file := m.Schema + m.Payload.Schema.Ref // one of them
		files[file] = true
		if filepath.Base(file) != strings.ToLower(m.Name)+map[string]string{"application/json": ".schema.json",
			"application/x-protobuf": ".proto", "application/vnd.confluent.avro": ".avsc"}[m.ContentType] {
			t.Errorf("message %s of type %s has the schema %s", name, m.ContentType, file)
		}
		_, known := read.ForContentType(m.ContentType)
		if payload, framed := strings.CutPrefix(m.ContentType, read.ConfluentContentType("")); framed {
			_, known = read.Payload(payload)
		}
		if !known {
			t.Errorf("message %s: no codec is of type %s", name, m.ContentType)
		}
	}
	have, err := filepath.Glob("schema/*")
	expect.OK(t, err)
	if diff := cmp.Diff(have, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("schemas (-here +in asyncapi.yaml):\n%s", diff)
	}
	headers := constants(t, "headers.go", "Header")
	described := map[string]bool{}
	for _, s := range d.Components.Schemas {
		for name := range s.Properties {
			described[name] = true
		}
	}
	if diff := cmp.Diff(headers, slices.Sorted(maps.Keys(described))); diff != "" {
		t.Errorf("headers (-constants +described):\n%s", diff)
	}
	letter := (&event.DeadLetter{IngestTime: time.Unix(1, 0)}).RecordHeaders()
	prediction, _ := event.AppendPredictionHeaders(nil, nil, &event.Prediction{}, "application/json")
	for schema, record := range map[string][]event.Header{"deadLetterHeaders": letter, "predictionHeaders": prediction} {
		var names []string
		for _, h := range record {
			if _, there := d.Components.Schemas[schema].Properties[h.Key]; !there {
				t.Errorf("%s lack %s", schema, h.Key)
			}
			if h.Key != event.HeaderIngestTime { // where it is known
				names = append(names, h.Key)
			}
		}
		if diff := cmp.Diff(names, d.Components.Schemas[schema].Required); diff != "" {
			t.Errorf("%s that are always there (-record +required):\n%s", schema, diff)
		}
	}
}

// constants returns the values of a file's constants whose names begin with a word, in order.
func constants(t *testing.T, name, prefix string) (values []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	expect.OK(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		if literal, is := spec.Values[0].(*ast.BasicLit); is && literal.Kind == token.STRING {
			value, err := strconv.Unquote(literal.Value)
			expect.OK(t, err)
			values = append(values, value)
		}
		return true
	})
	slices.Sort(values)
	return values
}
