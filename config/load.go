package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"rivulet/internal/spelling"
)

const (
	envPrefix    = "RIVULET_"
	fileVariable = envPrefix + "CONFIG" // the file if --config is not given
	dataVariable = envPrefix + "DATA"   // directory of the data sets for tests and scripts; not a setting
	testPrefix   = envPrefix + "TEST_"  // settings of tests
)

// expansion matches ${NAME}, which a shell or a compose file would replace by a variable. A file of settings is read as
// it is.
var expansion = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*[^}]*\}`)

// Sources are the sources of settings besides the defaults.
type Sources struct {
	Flags   *pflag.FlagSet // made by [Flags], parsed; nil: none
	Environ []string       // NAME=value, as os.Environ gives it; nil: none
}

// OfProgram returns the sources of a program: its flags and its environment.
func OfProgram(flags *pflag.FlagSet) Sources { return Sources{Flags: flags, Environ: os.Environ()} }

// Load reads the settings of T from all sources, checks them and returns them. The error is an [*Error] that lists
// everything that is wrong, or it says why the file could not be read.
func Load[T any](from Sources) (T, error) {
	cfg, _, err := load[T](from)
	return cfg, err
}

func load[T any](from Sources) (T, *loader, error) {
	var cfg T
	l := newLoader(reflect.TypeFor[T]())
	if path := from.file(); path != "" {
		if err := l.file(path); err != nil {
			return cfg, l, err
		}
	}
	l.environ(from.Environ)
	l.flags(from.Flags)
	loaded := reflect.New(reflect.TypeFor[T]()).Elem()
	l.fill(loaded)
	if l.problems != nil {
		return cfg, l, &Error{l.problems}
	}
	return loaded.Interface().(T), l, nil
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

// loader merges the layers and remembers the origin of each value: "default", "file rivulet.yaml:7", the name of a
// variable or a flag. A layer that is read later replaces values of earlier ones.
type loader struct {
	schema   *schema
	family   *schema           // keys of all programs: accepted, though perhaps not used by this one
	values   map[string]any    // by key
	origins  map[string]string // by key
	problems []Problem
}

func newLoader(t reflect.Type) *loader {
	l := &loader{
		schema:  schemaOf(t),
		family:  schemaOf(reflect.TypeFor[all]()),
		values:  map[string]any{},
		origins: map[string]string{},
	}
	for _, f := range l.schema.fields {
		l.put(f.key, f.def, OriginDefault)
	}
	return l
}

func (l *loader) put(key string, value any, origin string) {
	l.values[key], l.origins[key] = value, origin
}

func (l *loader) problem(key, value, origin, reason string) {
	l.problems = append(l.problems, Problem{key, value, origin, reason})
}

func (l *loader) file(path string) error {
	values, lines, err := readFile(path, l.isMap)
	if err != nil {
		return fmt.Errorf("reading configuration file %s: %w", path, err)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		origin := "file " + path // without a line where an alias (<<: *name) brings the key
		if line := lines[key]; line > 0 {
			origin = fmt.Sprintf("file %s:%d", path, line)
		}
		switch reason := l.unknown(key, values[key]); {
		case reason != "":
			l.problem(key, "", origin, reason)
		case expansion.MatchString(fmt.Sprint(values[key])):
			l.problem(key, "", origin, expansion.FindString(fmt.Sprint(values[key]))+
				" is not expanded in a file: set the environment's "+(&field{key: key}).env()+" instead")
		case l.schema.byKey[key] != nil:
			l.put(key, wholeNumber(values[key]), origin)
		}
	}
	return nil
}

// isMap reports whether a key is a setting of this or another program that has names and values.
func (l *loader) isMap(key string) bool {
	for _, s := range []*schema{l.schema, l.family} {
		if f := s.byKey[key]; f != nil && f.kind.name == "map" {
			return true
		}
	}
	return false
}

// wholeNumber returns a number without a fraction as an int, and another value as it is. Helm writes 1000000 as 1e+06.
func wholeNumber(value any) any {
	if x, is := value.(float64); is && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return int(x)
	}
	return value
}

// readFile returns a file's values by key, such as kafka.brokers, and the line of each key, also of sections.
// A setting that isMap is one value.
func readFile(path string, isMap func(key string) bool) (map[string]any, map[string]int, error) {
	info, err := os.Stat(path)
	if err == nil && info.Mode()&os.ModeNamedPipe != 0 && !strings.HasPrefix(path, "/dev/fd/") {
		return nil, nil, fmt.Errorf("%s is a pipe, want a file", path) // reading it would wait for a writer
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, nil, err
	}
	values, lines := map[string]any{}, map[string]int{}
	if document.IsZero() { // an empty file
		return values, lines, nil
	}
	var tree map[string]any
	if err := document.Decode(&tree); err != nil {
		return nil, nil, err
	}
	flatten(values, "", tree, isMap)
	for _, n := range document.Content {
		findLines(lines, "", n)
	}
	return values, lines, nil
}

// flatten puts each value of a tree under its keys, joined with dots. A section without entries stays as a value, so
// that a misspelt one is noticed.
func flatten(into map[string]any, key string, value any, isMap func(key string) bool) {
	if isMap(key) {
		into[key] = value
		return
	}
	prefix := key
	if prefix != "" {
		prefix += "."
	}
	switch entries := value.(type) {
	case map[string]any:
		for name, v := range entries {
			flatten(into, prefix+name, v, isMap)
		}
		if len(entries) > 0 {
			return
		}
	case map[any]any: // keys such as 1 and true
		for name, v := range entries {
			flatten(into, prefix+fmt.Sprint(name), v, isMap)
		}
		return
	}
	if key != "" {
		into[key] = value
	}
}

func findLines(into map[string]int, prefix string, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := prefix + n.Content[i].Value
		into[key] = n.Content[i].Line
		findLines(into, key+".", n.Content[i+1])
	}
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
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, envPrefix) {
			continue
		}
		key, known := byName[name]
		if !known && name != fileVariable && name != dataVariable && !strings.HasPrefix(name, testPrefix) && !services[name] {
			l.problem(name, "", "environment", "unknown variable"+spelling.DidYouMean(name,
				append(slices.Sorted(maps.Keys(byName)), fileVariable)))
		}
		if l.schema.byKey[key] != nil {
			l.put(key, value, name)
		}
	}
}

func (l *loader) flags(fs *pflag.FlagSet) {
	if fs == nil {
		return
	}
	fs.Visit(func(f *pflag.Flag) {
		if l.schema.byKey[f.Name] != nil { // else it is a flag of the command itself
			l.put(f.Name, f.Value.String(), "--"+f.Name)
		}
	})
}

// fill reads the values into a struct. Rules across fields are checked only if the fields by themselves are right.
func (l *loader) fill(target reflect.Value) {
	for _, f := range l.schema.fields {
		raw := l.values[f.key]
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
		ruled, ok := target.FieldByIndex(s.index).Interface().(interface{ problems() problems })
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
	case map[string]any:
		if f.kind.name == "map" {
			return mapOf(v)
		}
	case time.Time: // YAML takes 2026-11-21T09:30:00Z for one
		if f.kind.isText() {
			return nil, errors.New("want a text; put it in quotes")
		}
	case int, int64, uint64, float64, bool:
		switch {
		case f.kind.isText():
			return nil, errors.New("want a text; put it in quotes")
		case f.kind.name != "list" && f.kind.name != "map":
			return f.kind.parse(fmt.Sprint(v))
		}
	}
	if f.kind.name == "map" {
		return nil, errors.New("want a section of names and values")
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
	text := fmt.Sprint(raw)
	if address, _, has := strings.Cut(text, "?"); has && strings.Contains(address, "://") {
		return address + "?…" // it may be signed
	}
	return text
}

// orList returns "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
