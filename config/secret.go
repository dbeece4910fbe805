package config

import "fmt"

// Secret is a password. It prints itself as xxxxx, in every format; [Secret.Reveal] gives it to the client. A field of
// this type has no flag, since other users of a machine see command lines.
type Secret string

// Reveal is the password as it was given.
func (s Secret) Reveal() string { return string(s) }

// String is xxxxx, and empty where there is no password.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "xxxxx"
}

// Format hides the password from every verb of package fmt, wrong ones too.
func (s Secret) Format(state fmt.State, verb rune) {
	fmt.Fprintf(state, fmt.FormatString(state, verb), s.String())
}

// MarshalText hides the password from JSON and YAML, and from slog's handlers.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
