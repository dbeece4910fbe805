package config

import "fmt"

// Secret is a password. Every format prints it as xxxxx; [Secret.Reveal] returns it for the client. A field of
// this type has no flag, since other users of a machine see command lines.
type Secret string

// Reveal returns the password as it was given.
func (s Secret) Reveal() string { return string(s) }

// String returns xxxxx, and "" if there is no password.
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
