package config

import (
	"reflect"
	"strings"
)

// Setting is a setting with its value as text, for people.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin,omitempty"` // as in [Problem]; only [Explain] tells it
}

// OriginDefault is the origin of a setting that nothing sets.
const OriginDefault = "default"

// Explain is [Load], and returns all settings with their origins.
func Explain[T any](from Sources) (T, []Setting, error) {
	cfg, l, err := load[T](from)
	all := Shown(cfg)
	for i := range all {
		all[i].Origin = l.origins[all[i].Key]
	}
	return cfg, all, err
}

// Changed returns the keys of the settings that differ.
func Changed[T any](before, now T) (keys []string) {
	from, to := reflect.ValueOf(before), reflect.ValueOf(now)
	for _, f := range schemaOf(from.Type()).fields {
		if !reflect.DeepEqual(from.FieldByIndex(f.index).Interface(), to.FieldByIndex(f.index).Interface()) {
			keys = append(keys, f.key)
		}
	}
	return keys
}

// Shown returns all settings of cfg, in the order of REFERENCE.md. No password is among them: a URL shows xxxxx
// instead, and a secret only that there is one.
func Shown[T any](cfg T) []Setting {
	var all []Setting
	from := reflect.ValueOf(cfg)
	for _, f := range schemaOf(from.Type()).fields {
		all = append(all, Setting{Key: f.key, Value: f.shown(from.FieldByIndex(f.index).Interface())})
	}
	return all
}

// shown returns a value that was read, without a password.
func (f *field) shown(value any) string {
	switch v := value.(type) {
	case []string:
		return strings.Join(v, ",")
	case Map:
		return v.String()
	case Secret:
		if v == "" {
			return ""
		}
	}
	return f.show(value)
}

// LogValues returns settings as keys and values for a logger.
func LogValues(settings []Setting) []any {
	values := make([]any, 0, 2*len(settings))
	for _, s := range settings {
		values = append(values, s.Key, s.Value)
	}
	return values
}
