package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// check checks a parsed value, which has the right type and is within its bounds.
type check func(value any) error

// checks holds the checks by the names that tags use.
var checks = map[string]check{
	"share":      checkShare,
	"required":   func(v any) error { return checkRequired(v.(string)) },
	"listen":     optional(checkListen),
	"endpoint":   optional(checkEndpoint),
	"loopback":   optional(checkLoopback),
	"address":    func(v any) error { return cmp.Or(checkRequired(v.(string)), checkListen(v.(string))) },
	"addresses":  func(v any) error { return checkAddresses(v.([]string)) },
	"topic":      func(v any) error { return checkTopic(v.(string)) },
	"topics":     func(v any) error { return checkTopics(v.([]string)) },
	"instance":   optional(checkTopic),
	"issuer":     optional(checkIssuer),
	"prefix":     func(v any) error { return checkPrefix(v.(string)) },
	"start":      func(v any) error { return checkStart(v.(string)) },
	"parameters": func(v any) error { return checkParameters(v.(Map)) },
	"extensions": func(v any) error { return checkExtensions(v.(Map)) },
	"registries": func(v any) error { return checkRegistries(v.([]string)) },
	"pointer":    optional(checkPointer),
	"redis":      func(v any) error { return v.(RedisURL).check() },
	"redis?": func(v any) error {
		if v.(RedisURL) == "" {
			return nil
		}
		return v.(RedisURL).check()
	},
}

func checkShare(value any) error {
	if x := value.(float64); x < 0 || x > 1 {
		return errors.New("want 0 to 1")
	}
	return nil
}

// optional accepts an empty text, too.
func optional(accept func(string) error) check {
	return func(v any) error {
		if v == "" {
			return nil
		}
		return accept(v.(string))
	}
}

func checkRequired(text string) error {
	if text == "" {
		return errors.New("must not be empty")
	}
	return nil
}

// checkListen accepts host:port.
func checkListen(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil || !isPort(port, 0) {
		return errors.New("want host:port or :port")
	}
	return nil
}

// checkLoopback accepts an address that only this machine reaches.
func checkLoopback(address string) error {
	if err := checkListen(address); err != nil {
		return err
	}
	if !loopback(address) {
		return errors.New("others than this machine would reach it: want an address such as 127.0.0.1:6060")
	}
	return nil
}

func checkAddresses(addresses []string) error {
	if len(addresses) == 0 {
		return errors.New("want at least one host:port")
	}
	for _, a := range addresses {
		host, port, err := net.SplitHostPort(a)
		if err != nil || host == "" || !isPort(port, 1) {
			return fmt.Errorf("%q: want host:port", a)
		}
	}
	return nil
}

func isPort(text string, least int) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= least && n <= 65535
}

// checkTopic checks Kafka's rule for names.
func checkTopic(name string) error {
	if name == "" || name == "." || name == ".." || len(name) > 249 || !madeOf(name, "._-") {
		return errors.New("want 1 to 249 letters, digits, '.', '_' or '-'")
	}
	return nil
}

// checkTopics checks each name of a list.
func checkTopics(names []string) error {
	for _, name := range names {
		if err := checkTopic(name); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	return nil
}

// checkStart accepts a word or a time.
func checkStart(text string) error {
	if text == Earliest || text == Latest {
		return nil
	}
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return errors.New("want earliest, latest or a time as in RFC 3339, such as 2026-11-21T09:30:00Z")
	}
	return nil
}

// checkParameters refuses parameters of a token request that other settings give.
func checkParameters(m Map) error {
	settings := map[string]string{"grant_type": "", "client_id": "client_id", "client_secret": "client_secret_file",
		"scope": "scopes"}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		switch setting, known := settings[name]; {
		case known && setting == "":
			return fmt.Errorf("%s: it is always client_credentials", name)
		case known:
			return fmt.Errorf("%s: set kafka.sasl.oauth.%s", name, setting)
		}
	}
	return nil
}

// checkExtensions checks the rules of RFC 7628 for names and values.
func checkExtensions(m Map) error {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		letters := !strings.ContainsFunc(name, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') })
		switch {
		case name == "auth":
			return errors.New("auth: it is the token's own")
		case !letters || name == "":
			return fmt.Errorf("%q: a name has letters only", name)
		case m[name] == "" || strings.ContainsFunc(m[name], func(r rune) bool { return r < ' ' || r > '~' }):
			return fmt.Errorf("%s is %q: want printable ASCII characters", name, m[name])
		}
	}
	return nil
}

// checkPrefix refuses white space, and braces, which have a meaning in a Redis cluster.
func checkPrefix(prefix string) error {
	if prefix == "" || !madeOf(prefix, "._-:/") {
		return errors.New("want letters, digits, '.', '_', '-', ':' or '/'")
	}
	return nil
}

// madeOf reports whether text consists of ASCII letters, digits and the extra characters.
func madeOf(text, extra string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(extra, r))
	})
}
