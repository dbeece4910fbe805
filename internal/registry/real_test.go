package registry

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/test/expect"
)

// registryVariable names the address of a real registry, in which tests use subjects of their own.
const registryVariable = "RIVULET_TEST_REGISTRY"

// started is a registry that was started for the tests, a client by which they register, and a name that no other run
// has.
func started(t *testing.T) (r *Registry, client *sr.Client, suffix string) {
	t.Helper()
	url := os.Getenv(registryVariable)
	if url == "" {
		t.Skip(registryVariable + " is not set to the address of a registry for tests")
	}
	r, err := New(Options{URLs: []string{url}, Timeout: 30 * time.Second})
	expect.OK(t, err)
	if client, err = sr.NewClient(sr.URLs(url)); err != nil {
		t.Fatal(err)
	}
	return r, client, fmt.Sprintf("-%d", time.Now().UnixNano())
}

// Schemas of all three kinds, with references, are read as a real registry returns them.
func TestSchemasOfARealRegistry(t *testing.T) {
	r, client, suffix := started(t)
	create := func(subject string, s sr.Schema) int {
		t.Helper()
		made, err := client.CreateSchema(t.Context(), subject+suffix, s)
		if err != nil {
			t.Fatalf("registering %s: %v", subject, err)
		}
		return made.ID
	}
	expect.OK(t, r.Ping(t.Context()))
	inAvro, err := avro.Codec{}.AppendArrival(nil, &arrival)
	expect.OK(t, err)
	got, err := readBy(t, r, create("avro", sr.Schema{Schema: event.ArrivalAvro}), inAvro)
	same(t, got, err)

	inJSON, err := json.Codec{}.AppendArrival(nil, &arrival)
	expect.OK(t, err)
	got, err = readBy(t, r, create("json", sr.Schema{Schema: string(event.ArrivalSchema), Type: sr.TypeJSON}), inJSON)
	same(t, got, err)

	inProtobuf, err := protobuf.Codec{}.AppendArrival([]byte{0}, &arrival)
	expect.OK(t, err)
	ours, err := os.ReadFile("../../event/schema/arrival.proto")
	expect.OK(t, err)
	got, err = readBy(t, r, create("protobuf", sr.Schema{Schema: string(ours), Type: sr.TypeProtobuf}), inProtobuf)
	same(t, got, err)

	create("common", sr.Schema{Schema: `syntax = "proto3"; package shop; message Unit { int32 u = 1; }`,
		Type: sr.TypeProtobuf})
	id := create("clicks", sr.Schema{Schema: foreign, Type: sr.TypeProtobuf,
		References: []sr.SchemaReference{{Name: "common.proto", Subject: "common" + suffix, Version: 1}}})
	click := []byte{0x3a, 1, 'n', 0x12, 16, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0x04, 0x40, 0x1a, 1, 'a'}
	got, err = readBy(t, r, id, append([]byte{4, 0, 0}, click...)) // message 0 of message 0
	same(t, got, err)

	create("node", sr.Schema{Schema: `{"type":"record","name":"Node","namespace":"g","fields":[{"name":"n",` +
		`"type":"int"}]}`})
	id = create("named", sr.Schema{Schema: `{"type":"record","name":"C","fields":[{"name":"by","type":"g.Node"},` +
		`{"name":"id","type":"string"},
		{"name":"features","type":{"type":"array","items":"double"}}]}`,
		References: []sr.SchemaReference{{Name: "g.Node", Subject: "node" + suffix, Version: 1}}})
	if got, err = readBy(t, r, id, []byte{8, 2, 'n', 0}); err != nil || got.ID != "n" {
		t.Errorf("a schema with a reference: %+v, %v", got, err)
	}
}

// What a real registry answers for an id that it does not have is an answer, and no outage.
func TestUnknownIDOfARealRegistry(t *testing.T) {
	r, _, _ := started(t)
	const id = 1 << 30
	var fault *event.FieldError
	if _, err := readBy(t, r, id, []byte{0}); !errors.As(err, &fault) || !strings.Contains(err.Error(), "no schema") ||
		!r.known(numbered(id)) {
		t.Errorf("%v, known: %v", err, r.known(numbered(id)))
	}
}

// Predictions are not published under a schema that is missing; once registered, it is looked up, and a record names
// it.
func TestOutputOfARealRegistry(t *testing.T) {
	r, client, suffix := started(t)
	want := event.Prediction{ID: "n", Class: 3, Probability: 0.5, Artifact: "v1", Source: event.Source{Topic: "a"}}
	for _, form := range []string{"avro", "protobuf", "json"} {
		topic := form + suffix
		looked, err := r.Output(form, topic, false)
		expect.OK(t, err)
		var permanent Permanent
		if err := looked.Resolve(t.Context()); !errors.As(err, &permanent) {
			t.Errorf("%s: a schema that nobody registered: %v, want a permanent error", form, err)
		}
		made, err := r.Output(form, topic, true)
		if err == nil {
			err = errors.Join(made.Resolve(t.Context()), looked.Resolve(t.Context()))
		}
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		data, err := looked.AppendPrediction(nil, &want)
		expect.OK(t, err)
		id := int(binary.BigEndian.Uint32(data[1:]))
		back, err := client.SchemaByID(t.Context(), id)
		if err != nil || back.Type != looked.schema.Type || !bytes.Equal(looked.head, made.head) {
			t.Errorf("%s: record % x, heads % x and % x, schema %d is %+v, %v", form, data[:5], looked.head, made.head, id,
				back.Type, err)
		}
		var got event.Prediction
		if err := looked.DecodePrediction(data[len(looked.head):], &got); err != nil || got.ID != want.ID ||
			got.Class != want.Class {
			t.Errorf("%s: %+v, %v", form, got, err)
		}
	}
}

// A schema that does not go with the one before it is an error that trying again does not mend.
func TestIncompatibleWithARealRegistry(t *testing.T) {
	r, client, suffix := started(t)
	subject := "old" + suffix + "-value"
	level := client.SetCompatibility(t.Context(), sr.SetCompatibility{Level: sr.CompatBackward}, subject)
	if _, err := client.CreateSchema(t.Context(), subject, sr.Schema{Schema: `{"type":"record","name":"Prediction",
		"namespace":"rivulet.event.v1","fields":[{"name":"id","type":"int"}]}`}); err != nil {
		t.Fatal(err)
	}
	if level[0].Err != nil { // a registry may want the subject first
		level = client.SetCompatibility(t.Context(), sr.SetCompatibility{Level: sr.CompatBackward}, subject)
	}
	if level[0].Err != nil {
		t.Fatal(level[0].Err)
	}
	out, err := r.Output("avro", "old"+suffix, true)
	expect.OK(t, err)
	var permanent Permanent
	if err := out.Resolve(t.Context()); !errors.As(err, &permanent) {
		t.Errorf("%v, want a permanent error", err)
	}
}
