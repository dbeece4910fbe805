package config

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with the settings.
type Problem struct {
	Key    string // "batch.size", or the name of an unknown variable
	Value  string // as given, without a password; empty if there is none to show
	Origin string // its origin: "file rivulet.yaml:12", "RIVULET_BATCH_SIZE", "--batch.size", "default"
	Reason string // the mistake and the allowed values
}

// String returns the problem on one line.
func (p Problem) String() string {
	text := p.Key
	if p.Value != "" {
		text += fmt.Sprintf(" is %q", p.Value)
	}
	if p.Origin != "" {
		text += " (" + p.Origin + ")"
	}
	return text + ": " + p.Reason
}

// problems are gathered rule by rule.
type problems []Problem

// when adds a problem if a setting is wrong.
func (p *problems) when(wrong bool, key, value, reason string) {
	if wrong {
		p.add(key, value, reason)
	}
}

func (p *problems) add(key, value, reason string) {
	*p = append(*p, Problem{Key: key, Value: value, Reason: reason})
}

// unused returns the values that are set although they have no effect, with the reason.
func unused(reason string, values ...Problem) (found problems) {
	for _, p := range values {
		found.when(p.Value != "", p.Key, p.Value, reason)
	}
	return found
}

// unpaired returns the missing one of a certificate and its key, whose settings begin with a prefix.
func unpaired(prefix, cert, key string) (found problems) {
	found.when(cert != "" && key == "", prefix+"key_file", "", "must not be empty if cert_file is set")
	found.when(key != "" && cert == "", prefix+"cert_file", "", "must not be empty if key_file is set")
	return found
}

// tlsProblems returns the problems of a client's TLS; noEffect is the reason why it is not used, if it is not.
func tlsProblems(prefix string, t RedisTLS, noEffect string) (found problems) {
	if noEffect != "" {
		found = unused(noEffect, Problem{Key: prefix + "ca_file", Value: t.CAFile},
			Problem{Key: prefix + "cert_file", Value: t.CertFile}, Problem{Key: prefix + "key_file", Value: t.KeyFile},
			Problem{Key: prefix + "server_name", Value: t.ServerName})
	}
	return append(found, unpaired(prefix, t.CertFile, t.KeyFile)...)
}

// Error lists all problems of the settings.
type Error struct{ Problems []Problem }

// Error returns a line for each problem.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return "configuration: " + e.Problems[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "configuration: %d problems", len(e.Problems))
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}
