package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
)

// RedisURL is a Redis URL that may hold a password. Every format prints it without the password; [RedisURL.Reveal]
// returns the whole URL for the client.
type RedisURL string

// Reveal returns the URL as it was given, with the password.
func (u RedisURL) Reveal() string { return string(u) }

// Split returns the URL with only its first host, and the other hosts as host:port.
func (u RedisURL) Split() (first string, more []string) {
	hosts := u.hosts()
	for _, other := range hosts[1:] {
		if address, _, err := readURL(other); err == nil { // check has seen that it can be
			more = append(more, address)
		}
	}
	return hosts[0], more
}

// hosts returns one URL for each of the hosts, which commas separate.
func (u RedisURL) hosts() []string {
	scheme, rest, found := strings.Cut(string(u), "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, tail := rest[:end], rest[end:]
	at := strings.LastIndex(authority, "@") + 1
	if !found || !strings.Contains(authority[at:], ",") {
		return []string{string(u)}
	}
	var each []string
	for _, host := range strings.Split(authority[at:], ",") {
		each = append(each, scheme+"://"+authority[:at]+host+tail)
	}
	return each
}

// database returns the number of the database of a valid URL.
func (u RedisURL) database() int {
	_, number, err := readURL(u.hosts()[0])
	if err != nil {
		return 0
	}
	return number
}

// readURL returns the address and the number of the database of a URL of one host, as the client reads it.
//
//go:noinline // inlined, it would have the client's thousand methods compiled in each package that asks
func readURL(text string) (address string, database int, err error) {
	o, err := redis.ParseURL(text)
	if err != nil {
		return "", 0, err
	}
	return o.Addr, o.DB, nil
}

// Login returns the user and the password in the URL, empty if it has none.
func (u RedisURL) Login() (username, password string) {
	parsed, err := url.Parse(u.hosts()[0])
	if err != nil {
		return "", ""
	}
	password, _ = parsed.User.Password()
	return parsed.User.Username(), password
}

// String returns the URL with the password replaced by xxxxx and without query values.
func (u RedisURL) String() string {
	if u.check() != nil {
		return "(not shown)" // nobody knows which part is the password
	}
	var hosts []string
	var shown *url.URL
	for _, each := range u.hosts() {
		parsed, _ := url.Parse(each) // check has parsed it
		if shown == nil {
			shown = parsed
		}
		hosts = append(hosts, parsed.Host)
	}
	shown.Host = strings.Join(hosts, ",")
	if shown.RawQuery != "" {
		shown.RawQuery = "…"
	}
	return shown.Redacted()
}

// Format hides the password from every verb of package fmt, wrong ones too.
func (u RedisURL) Format(s fmt.State, verb rune) {
	fmt.Fprintf(s, fmt.FormatString(s, verb), u.String())
}

// MarshalText hides the password from JSON and YAML, and from slog's handlers.
func (u RedisURL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// check returns the mistake without repeating any part that could be the password: the parsers' messages quote the
// text that they could not read.
func (u RedisURL) check() error {
	for _, each := range u.hosts() {
		if err := checkRedisURL(each); err != nil {
			return err
		}
	}
	return nil
}

func checkRedisURL(u string) error {
	parsed, err := url.Parse(u)
	if err != nil {
		return errors.New("not a URL; special characters of a password are percent-encoded")
	}
	switch parsed.Scheme {
	case "redis", "rediss", "unix":
	default:
		return errors.New("want a URL that begins with redis://, rediss:// or unix://")
	}
	// The client takes these for localhost: a URL without //, one without a host, and one that a # of
	// the password ends.
	odd := parsed.Opaque != "" || parsed.Fragment != "" || parsed.Scheme != "unix" && parsed.Hostname() == ""
	if _, _, err := readURL(u); err != nil || odd {
		return errors.New("want redis://[user:password@]host:port[,host:port]/database; special characters of a password " +
			"are percent-encoded")
	}
	return nil
}
