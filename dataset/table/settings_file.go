package table

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"rivulet/internal/spelling"
)

// decodeSettings reads a file of Settings. Its errors name line and key.
func decodeSettings(r io.Reader) (t Settings, err error) {
	var document yaml.Node
	switch err := yaml.NewDecoder(r).Decode(&document); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return t, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	default:
		if err := fill(reflect.ValueOf(&t).Elem(), document.Content[0]); err != nil {
			return Settings{}, err
		}
	}
	if t.Edges == "" {
		return Settings{}, errors.New("want nodes and edges: the files of the two tables")
	}
	return t, t.Validate()
}

// fill reads each key of a mapping into its field, and returns all that is wrong.
func fill(into reflect.Value, from *yaml.Node) error {
	if from.Kind == yaml.ScalarNode && from.Tag == "!!null" { // comments alone
		return nil
	}
	if from.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want keys and values, such as nodes: nodes.csv", from.Line)
	}
	fields := make(map[string]reflect.Value)
	keys := settingsKeys(into, fields)
	seen := make(map[string]int) // key -> line
	var found []string
	for i := 0; i+1 < len(from.Content); i += 2 {
		key, value := from.Content[i], from.Content[i+1]
		field, known := fields[key.Value]
		var reason string
		switch first, twice := seen[key.Value]; {
		case !known:
			reason = "unknown key " + fmt.Sprintf("%.100q", key.Value) + spelling.DidYouMean(key.Value, keys)
		case twice:
			reason = fmt.Sprintf("%s is there twice, first in line %d", key.Value, first)
		default:
			reason = read(field, key, value)
		}
		if seen[key.Value] = key.Line; reason != "" {
			if !strings.HasPrefix(reason, "line ") {
				reason = fmt.Sprintf("line %d: %s", key.Line, reason)
			}
			found = append(found, reason)
		}
	}
	if found == nil {
		return nil
	}
	return errors.New(strings.Join(found, "; "))
}

// settingsKeys notes the fields of Settings by their keys, and returns the keys in their order.
func settingsKeys(of reflect.Value, fields map[string]reflect.Value) (keys []string) {
	for i := range of.NumField() {
		key, rest, _ := strings.Cut(of.Type().Field(i).Tag.Get("yaml"), ",")
		if rest == "inline" {
			keys = append(keys, settingsKeys(of.Field(i), fields)...)
			continue
		}
		fields[key] = of.Field(i)
		keys = append(keys, key)
	}
	return keys
}

// read reads a value into a field, and returns why it cannot.
func read(field reflect.Value, key, value *yaml.Node) string {
	err := value.Decode(field.Addr().Interface())
	var mistyped *yaml.TypeError
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &mistyped):
		return err.Error()
	}
	want := map[reflect.Kind]string{reflect.String: "a text", reflect.Bool: "true or false",
		reflect.Slice: "a list of texts", reflect.Map: "names with a text each, below it"}[field.Kind()]
	what := map[yaml.Kind]string{yaml.MappingNode: "a section", yaml.SequenceNode: "a list"}[value.Kind]
	if what == "" {
		what = fmt.Sprintf("%.100q", value.Value)
	}
	return fmt.Sprintf("%s is %s, want %s", key.Value, what, want)
}
