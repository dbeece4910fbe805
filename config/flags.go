package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"rivulet/internal/help"
)

// fileFlag is the name of the flag that names the file.
const fileFlag = "config"

// programVersion is the flag that prints the program's own version. A setting of that name has no flag.
const programVersion = "version"

// Flags registers --config and a flag for each field of T, named by its key, except secrets and [programVersion].
// Values are read by [Load], which reports their problems together with all others; parsing the flags refuses only
// unknown names.
func Flags[T any](fs *pflag.FlagSet) {
	fs.String(fileFlag, "", "YAML file with settings (default $"+fileVariable+")")
	for _, f := range schemaOf(reflect.TypeFor[T]()).fields {
		if f.kind.name == "secret" || f.key == programVersion {
			continue // other users can read command lines, or it is taken
		}
		help.Group(fs, heading(f.key), func() {
			flag := fs.VarPF(&text{value: f.def, placeholder: f.placeholder(), adds: f.kind.name == "map"}, f.key, "", f.help())
			if f.kind.name == "bool" {
				flag.NoOptDefVal = "true"
			}
			if connects(f.key) {
				help.Rarely(flag)
			}
		})
	}
}

// heading is the heading of a setting's flag in help: its section.
func heading(key string) string {
	if section, _, nested := strings.Cut(key, "."); nested {
		return "Settings, " + section
	}
	return "Settings"
}

// named are the settings of connections that every reader of a help looks for: where the service is, and what is read
// and written there.
var named = []string{"kafka.brokers", "kafka.group", "kafka.topics.", "kafka.start_offset", "redis.url", "redis.prefix",
	"redis.outage", "registry.urls"}

// connects reports whether a setting says how a service is connected to, and not which: TLS, logins, limits.
func connects(key string) bool {
	section, _, _ := strings.Cut(key, ".")
	return slices.Contains([]string{"kafka", "redis", "registry"}, section) &&
		!slices.ContainsFunc(named, func(name string) bool { return strings.HasPrefix(key, name) })
}

// Alias gives flags short names besides their own, as {"redis": "redis.url"}. It must be called before parsing; help
// shows the long name.
func Alias(fs *pflag.FlagSet, aliases map[string]string) {
	earlier := fs.GetNormalizeFunc()
	fs.SetNormalizeFunc(func(fs *pflag.FlagSet, name string) pflag.NormalizedName {
		if long, ok := aliases[name]; ok {
			name = long
		}
		return earlier(fs, name)
	})
}

// placeholder returns the word for the value in help: the words that are allowed, the unit or the type.
func (f *field) placeholder() string {
	switch {
	case f.oneof != nil:
		return strings.Join(f.oneof, "|")
	case f.unit != "":
		return f.unit
	}
	return f.kind.name
}

// help returns the flag's usage text: its effect and the meaning of zero. pflag adds the placeholder
// and the default.
func (f *field) help() string {
	if f.zero == "" {
		return f.usage
	}
	return fmt.Sprintf("%s; %s: %s", f.usage, f.zeroWord(), f.zero)
}

// zeroWord returns the written form of the zero value.
func (f *field) zeroWord() string {
	switch f.kind.name {
	case "string", "url", "secret", "list", "map":
		return "empty"
	case "duration":
		return "0s"
	}
	return "0"
}

// text is a flag's value before it is parsed. The last one counts; one that adds is a list of all.
type text struct {
	value, placeholder string
	adds, set          bool
}

func (t *text) String() string { return t.value }
func (t *text) Type() string   { return t.placeholder }

// Set takes the next value of the flag.
func (t *text) Set(v string) error {
	if t.adds && t.set && t.value != "" && v != "" {
		v = t.value + "," + v
	}
	t.value, t.set = v, true
	return nil
}
