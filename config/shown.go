package config

import (
	"reflect"
	"strings"
)

// Setting is a setting with its value as text, for people.
type Setting struct{ Key, Value string }

// Shown returns all settings of cfg, in the order of REFERENCE.md. No password is among them: a URL shows xxxxx
// instead, and a secret only that there is one.
func Shown[T any](cfg T) []Setting {
	var all []Setting
	from := reflect.ValueOf(cfg)
	for _, f := range schemaOf(from.Type()).fields {
		all = append(all, Setting{f.key, f.shown(from.FieldByIndex(f.index).Interface())})
	}
	return all
}

// shown returns a value that was read, without a password.
func (f *field) shown(value any) string {
	switch v := value.(type) {
	case []string:
		return strings.Join(v, ",")
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
