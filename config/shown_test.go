package config

import (
	"bytes"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
)

// All settings are shown, and no password, whatever is secret and in each form of the log.
func TestShownHidesPasswords(t *testing.T) {
	cfg := Default[Consumer]()
	value := reflect.ValueOf(&cfg).Elem()
	secrets := 0
	for _, f := range schemaOf(value.Type()).fields {
		switch at := value.FieldByIndex(f.index); at.Interface().(type) {
		case Secret:
			at.Set(reflect.ValueOf(Secret("sesame")))
			secrets++
		case RedisURL:
			at.Set(reflect.ValueOf(RedisURL("redis://me:sesame@a:1,b:2/3")))
			secrets++
		}
	}
	cfg.Artifact = "https://host/next?sv=1&sig=sesame"
	if secrets < 4 {
		t.Fatalf("%d settings hold passwords, want those of Kafka, Redis, Sentinel and the URL at least", secrets)
	}
	shown := Shown(cfg)
	if len(shown) != len(schemaOf(value.Type()).fields) {
		t.Errorf("%d settings are shown of %d", len(shown), len(schemaOf(value.Type()).fields))
	}
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("settings", LogValues(shown)...)
	}
	if text := log.String() + fmt.Sprintf("%v %+v %#v", shown, shown, shown); strings.Contains(text, "sesame") {
		t.Errorf("a password is shown:\n%s", text)
	}
	for _, want := range []string{"redis.url=redis://me:xxxxx@a:1,b:2/3", "batch.size=256", "batch.linger=5ms",
		"cache.bytes=256MiB", "artifact=https://host/next?…",
		`kafka.sasl.password="(not shown)"`, "kafka.brokers=localhost:9092"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s is not in\n%s", want, log.String())
		}
	}
}
