package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
	yamlv3 "go.yaml.in/yaml/v3"

	"rivulet/spelling"
)

const (
	envPrefix    = "RIVULET_"
	fileVariable = envPrefix + "CONFIG" // the file if --config is not given
	dataVariable = envPrefix + "DATA"   // directory of the data sets for tests and scripts; not a setting
	testPrefix   = envPrefix + "TEST_"  // settings of tests
)

// Sources are the sources of settings besides the defaults.
type Sources struct {
	Flags   *pflag.FlagSet // as [Flags] made it, parsed; nil: none
	Environ []string       // NAME=value, as os.Environ gives it; nil: none
}

// Load reads the settings of T from all sources, checks them and returns them. The error is an [*Error] that lists
// everything that is wrong, or it says why the file could not be read.
func Load[T any](from Sources) (T, error) {
	var cfg T
	l := newLoader(reflect.TypeFor[T]())
	if path := from.file(); path != "" {
		if err := l.file(path); err != nil {
			return cfg, err
		}
	}
	l.environ(from.Environ)
	l.flags(from.Flags)
	loaded := reflect.New(reflect.TypeFor[T]()).Elem()
	l.fill(loaded)
	if l.problems != nil {
		return cfg, &Error{l.problems}
	}
	return loaded.Interface().(T), nil
}

// Default returns the default settings of T. It panics if these alone are not valid.
func Default[T any]() T {
	cfg, err := Load[T](Sources{})
	if err != nil {
		panic(err)
	}
	return cfg
}

// file returns the path of the file to read, empty for none. An empty --config= turns the variable off.
func (s Sources) file() string {
	if s.Flags != nil && s.Flags.Changed(fileFlag) {
		return s.Flags.Lookup(fileFlag).Value.String()
	}
	for _, v := range slices.Backward(s.Environ) {
		if path, ok := strings.CutPrefix(v, fileVariable+"="); ok {
			return path
		}
	}
	return ""
}

// loader merges the layers and remembers the origin of each value.
type loader struct {
	schema   *schema
	family   *schema // keys of all programs: accepted, though perhaps not used by this one
	values   *koanf.Koanf
	origins  map[string]string // by key
	problems []Problem
}

func newLoader(t reflect.Type) *loader {
	l := &loader{
		schema:  schemaOf(t),
		family:  schemaOf(reflect.TypeFor[all]()),
		values:  koanf.New("."),
		origins: map[string]string{},
	}
	defaults := map[string]any{}
	for _, f := range l.schema.fields {
		defaults[f.key] = f.def
	}
	l.put(defaults, func(string) string { return "default" })
	return l
}

// put sets values in place of earlier ones. The keys are known.
func (l *loader) put(values map[string]any, origin func(key string) string) {
	for key := range values {
		l.origins[key] = origin(key)
	}
	// confmap cannot fail, and no key is the beginning of another.
	_ = l.values.Load(confmap.Provider(values, "."), nil)
}

func (l *loader) problem(key, value, origin, reason string) {
	l.problems = append(l.problems, Problem{key, value, origin, reason})
}

func (l *loader) file(path string) error {
	layer := koanf.New(".")
	if err := layer.Load(file.Provider(path), yaml.Parser()); err != nil {
		return fmt.Errorf("reading configuration file %s: %w", path, err)
	}
	lines, err := linesOf(path)
	if err != nil {
		return err
	}
	origin := func(key string) string {
		if line := lines[key]; line > 0 {
			return fmt.Sprintf("file %s:%d", path, line)
		}
		return "file " + path // an alias (<<: *name) brings the key
	}
	known := map[string]any{}
	all := layer.All()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		switch reason := l.unknown(key, all[key]); {
		case reason != "":
			l.problem(key, "", origin(key), reason)
		case l.schema.byKey[key] != nil:
			known[key] = all[key]
		}
	}
	l.put(known, origin)
	return nil
}

// linesOf returns the line of each key of a file, sections and values.
func linesOf(path string) (map[string]int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading configuration file %s: %w", path, err)
	}
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("reading configuration file %s: %w", path, err)
	}
	lines := map[string]int{}
	var walk func(n *yamlv3.Node, prefix string)
	walk = func(n *yamlv3.Node, prefix string) {
		if n.Kind != yamlv3.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := prefix + n.Content[i].Value
			lines[key] = n.Content[i].Line
			walk(n.Content[i+1], key+".")
		}
	}
	for _, n := range document.Content {
		walk(n, "")
	}
	return lines, nil
}

// unknown returns the reason for which a key of a file is refused; empty if it is a field, or an empty section.
func (l *loader) unknown(key string, value any) string {
	if l.schema.byKey[key] != nil || l.family.byKey[key] != nil {
		return ""
	}
	isSection := func(s section) bool { return s.key == key }
	if !slices.ContainsFunc(l.schema.sections, isSection) && !slices.ContainsFunc(l.family.sections, isSection) {
		return "unknown key" + spelling.DidYouMean(key, slices.Concat(l.schema.keys(), l.family.keys()))
	}
	if entries, isMap := value.(map[string]any); value == nil || isMap && len(entries) == 0 {
		return ""
	}
	return "is a section, want keys and values below it"
}

func (l *loader) environ(variables []string) {
	byName := map[string]string{} // name of the variable -> key
	for _, s := range []*schema{l.family, l.schema} {
		for _, f := range s.fields {
			byName[f.env()] = f.key
		}
	}
	services := serviceVariables(variables)
	layer := koanf.New(".")
	// The provider reads from memory and cannot fail.
	_ = layer.Load(env.Provider(".", env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return variables },
		TransformFunc: func(name, value string) (string, any) {
			key, known := byName[name]
			if !known && name != fileVariable && name != dataVariable && !strings.HasPrefix(name, testPrefix) &&
				!services[name] {
				l.problem(name, "", "environment", "unknown variable"+spelling.DidYouMean(name, variablesOf(byName)))
			}
			if l.schema.byKey[key] == nil {
				return "", nil
			}
			return key, value
		},
	}), nil)
	l.put(layer.All(), func(key string) string { return l.schema.byKey[key].env() })
}

// variablesOf returns the names of all variables that there are.
func variablesOf(byName map[string]string) []string {
	return append(slices.Sorted(maps.Keys(byName)), fileVariable)
}

func (l *loader) flags(fs *pflag.FlagSet) {
	if fs == nil {
		return
	}
	layer := koanf.New(".")
	// The provider reads from memory and cannot fail.
	_ = layer.Load(posflag.ProviderWithFlag(fs, ".", nil, func(f *pflag.Flag) (string, any) {
		if l.schema.byKey[f.Name] == nil {
			return "", nil // a flag of the command itself
		}
		return f.Name, f.Value.String()
	}), nil)
	l.put(layer.All(), func(key string) string { return "--" + key })
}

// fill reads the values into a struct. Rules across fields are checked only if the fields by themselves are right.
func (l *loader) fill(target reflect.Value) {
	for _, f := range l.schema.fields {
		raw := l.values.Get(f.key)
		value, err := f.read(raw)
		if err != nil {
			l.problem(f.key, f.show(raw), l.origins[f.key], err.Error())
			continue
		}
		target.FieldByIndex(f.index).Set(reflect.ValueOf(value))
	}
	if l.problems != nil {
		return
	}
	for _, s := range l.schema.sections {
		ruled, ok := target.FieldByIndex(s.index).Interface().(interface{ problems() []Problem })
		if !ok {
			continue
		}
		for _, p := range ruled.problems() {
			if s.key != "" {
				p.Key = s.key + "." + p.Key
			}
			p.Origin = l.origins[p.Key]
			l.problems = append(l.problems, p)
		}
	}
}

// read parses and checks a value of any layer.
func (f *field) read(raw any) (any, error) {
	value, err := f.parse(raw)
	if err != nil {
		return nil, err
	}
	if f.oneof != nil && !slices.Contains(f.oneof, value.(string)) {
		return nil, fmt.Errorf("want %s", orList(f.oneof))
	}
	if f.min != nil && reflect.ValueOf(value).Int() < *f.min {
		return nil, fmt.Errorf("want at least %s", f.minText)
	}
	if f.max != nil && reflect.ValueOf(value).Int() > *f.max {
		return nil, fmt.Errorf("want at most %s", f.maxText)
	}
	if f.check != nil {
		return value, f.check(value)
	}
	return value, nil
}

// parse parses text, or the value that YAML makes of an unquoted number, truth value or list.
func (f *field) parse(raw any) (any, error) {
	switch v := raw.(type) {
	case string:
		return f.kind.parse(v)
	case nil:
		return nil, errors.New(`no value; leave the key out for the default, or write "" for an empty text`)
	case []any:
		if f.kind.name == "list" {
			return listOf(v)
		}
	case time.Time: // YAML takes 2026-11-21T09:30:00Z for one
		if f.kind.isText() {
			return nil, errors.New("want a text; put it in quotes")
		}
	case int, int64, uint64, float64, bool:
		switch {
		case f.kind.isText():
			return nil, errors.New("want a text; put it in quotes")
		case f.kind.name != "list":
			return f.kind.parse(fmt.Sprint(v))
		}
	}
	return nil, fmt.Errorf("want a %s", f.kind.name)
}

func listOf(entries []any) ([]string, error) {
	list := make([]string, len(entries))
	for i, e := range entries {
		word, ok := e.(string)
		if !ok {
			return nil, fmt.Errorf("entry %d is %v, want a text; put it in quotes", i, e)
		}
		list[i] = word
	}
	return list, nil
}

// show returns a value for messages, without a password.
func (f *field) show(raw any) string {
	if raw == nil {
		return ""
	}
	switch f.kind.name {
	case "url":
		return RedisURL(fmt.Sprint(raw)).String()
	case "secret":
		return "(not shown)"
	}
	return fmt.Sprint(raw)
}

// orList returns "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
