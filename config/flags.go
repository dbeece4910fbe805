package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/pflag"
)

// fileFlag names the file.
const fileFlag = "config"

// Flags registers --config and a flag for each field of T but secrets, named by its key. Values are read by [Load], which reports
// them together with what is wrong elsewhere; parsing the flags refuses only names that nobody registered.
func Flags[T any](fs *pflag.FlagSet) {
	fs.String(fileFlag, "", "YAML file with settings (default $"+fileVariable+")")
	for _, f := range schemaOf(reflect.TypeFor[T]()).fields {
		if f.kind.name == "secret" {
			continue // command lines are read by others
		}
		flag := fs.VarPF(&text{f.def, f.placeholder()}, f.key, "", f.help())
		if f.kind.name == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
}

// Alias gives flags short names beside their own, as {"redis": "redis.url"}. It must be called before parsing; help shows
// the long name.
func Alias(fs *pflag.FlagSet, aliases map[string]string) {
	earlier := fs.GetNormalizeFunc()
	fs.SetNormalizeFunc(func(fs *pflag.FlagSet, name string) pflag.NormalizedName {
		if long, ok := aliases[name]; ok {
			name = long
		}
		return earlier(fs, name)
	})
}

// placeholder stands for the value in help: the words that are allowed, the unit or the type.
func (f *field) placeholder() string {
	switch {
	case f.oneof != nil:
		return strings.Join(f.oneof, "|")
	case f.unit != "":
		return f.unit
	}
	return f.kind.name
}

// help is the flag's usage text: what it does and what zero means. pflag adds the placeholder and the default.
func (f *field) help() string {
	var b strings.Builder
	b.WriteString(f.usage)
	if f.zero != "" {
		fmt.Fprintf(&b, "; %s: %s", f.zeroWord(), f.zero)
	}
	return b.String()
}

// zeroWord is how the zero value is written.
func (f *field) zeroWord() string {
	switch f.kind.name {
	case "string", "url", "secret", "list":
		return "empty"
	case "duration":
		return "0s"
	}
	return "0"
}

// text is a flag's value before it is read.
type text struct{ value, placeholder string }

func (t *text) String() string     { return t.value }
func (t *text) Set(v string) error { t.value = v; return nil }
func (t *text) Type() string       { return t.placeholder }
