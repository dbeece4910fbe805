package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Registry sets the Schema Registry of records in the Confluent wire format.
type Registry struct {
	URLs         []string      `key:"urls" default:"" check:"registries" usage:"addresses of the Schema Registry, http:// or https://, also with a path such as Apicurio's /apis/ccompat/v7; the next is tried where one cannot be reached. Redirects are not followed" zero:"none: records in the Confluent wire format are dead letters"`
	Timeout      time.Duration `key:"timeout" default:"5s" min:"10ms" max:"5m" usage:"limit of a request to the registry"`
	Username     string        `key:"username" default:"" usage:"name to log in to the registry with (basic authentication), in clear where the address is http" zero:"nobody logs in"`
	Password     Secret        `key:"password" default:"" usage:"password to log in with" zero:"read from password_file"`
	PasswordFile string        `key:"password_file" default:"" usage:"file with the password, read again for each request; a line break at its end is left out" zero:"password is used"`
	TLS          RegistryTLS   `key:"tls"`
}

// RegistryTLS is for addresses that begin with https://. A registry's certificate is always verified.
type RegistryTLS struct {
	CAFile     string `key:"ca_file" default:"" usage:"PEM file of the certificate authorities that may have signed the registry's certificate; read again for each connection" zero:"the system's"`
	CertFile   string `key:"cert_file" default:"" usage:"PEM file of this client's certificate, intermediate ones after it; read again for each connection" zero:"no client certificate"`
	KeyFile    string `key:"key_file" default:"" usage:"PEM file of the client certificate's private key; read again for each connection" zero:"no client certificate"`
	ServerName string `key:"server_name" default:"" usage:"name that the registry's certificate must have" zero:"the host of its address"`
}

// Secure reports whether an address is https.
func (r Registry) Secure() bool {
	return slices.ContainsFunc(r.URLs, func(address string) bool { return strings.HasPrefix(address, "https://") })
}

func (r Registry) problems() (found problems) {
	switch {
	case r.Username == "":
		found = unused("has no effect, because username is empty", Problem{Key: "password", Value: r.Password.String()},
			Problem{Key: "password_file", Value: r.PasswordFile})
	case len(r.URLs) == 0:
		found.add("username", r.Username, "has no effect, because urls is empty")
	default:
		found.when(r.Password == "" && r.PasswordFile == "", "password", "", "is empty, and so is password_file")
		found.when(r.Password != "" && r.PasswordFile != "", "password_file", r.PasswordFile, "is set, and so is password")
	}
	noTLS := ""
	if !r.Secure() {
		noTLS = "has no effect, because no address of urls begins with https://"
	}
	return append(found, tlsProblems("tls.", RedisTLS(r.TLS), noTLS)...)
}

func overHTTP(u *url.URL) bool { return u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") }

// checkEndpoint accepts the address of a collector of traces. Its logins are headers.
func checkEndpoint(address string) error {
	if u, err := url.Parse(address); err != nil || !overHTTP(u) || u.User != nil || u.RawQuery != "" {
		return errors.New("want an address such as http://localhost:4318, and logins in OTEL_EXPORTER_OTLP_HEADERS")
	}
	return nil
}

// checkIssuer accepts the address of a token endpoint.
func checkIssuer(address string) error {
	if u, err := url.Parse(address); err != nil || !overHTTP(u) || u.User != nil {
		return errors.New("want an address such as https://issuer/oauth2/token, without a login in it")
	}
	return nil
}

// checkRegistries checks the addresses of a registry.
func checkRegistries(addresses []string) error {
	for _, a := range addresses {
		u, err := url.Parse(a)
		switch {
		case err != nil || !overHTTP(u):
			return errors.New("want addresses such as https://registry:8081")
		case u.User != nil:
			return errors.New("want no login in an address: there are username and password for it")
		case u.RawQuery != "" || u.Fragment != "":
			return fmt.Errorf("%q: want no query and no fragment", u.Redacted())
		}
	}
	return nil
}

// Mapping says where an arrival is in a record of another shape. Its pointers are JSON pointers (RFC 6901) that begin
// below the preset's envelope; # is the whole of it. They work for JSON, and for records whose schema a registry has.
type Mapping struct {
	Preset    string `key:"preset" default:"none" oneof:"none|debezium|connect|cloudevents" usage:"what records are wrapped in: debezium (changes c, r and u have the arrival in after; deletes, tombstones, heartbeats and other records about no row are counted and passed over), connect (rows of Kafka Connect, with the converter's schema around them or without, also of ExtractNewRecordState) or cloudevents (binary mode: attributes are in headers; the event's time where the arrival has none)"`
	ID        string `key:"id" default:"" check:"pointer" usage:"where the id is" zero:"/id"`
	Features  string `key:"features" default:"" check:"pointer" usage:"where the features are, in a form that an arrival may have" zero:"/features"`
	Named     string `key:"named" default:"" check:"pointer" usage:"where an object is whose members are the features by their names, instead of input.mapping.features" zero:"features are where input.mapping.features says"`
	Edges     string `key:"edges" default:"" check:"pointer" usage:"where the list of the neighbours' ids is" zero:"/edges"`
	Weights   string `key:"weights" default:"" check:"pointer" usage:"where the list of the edges' weights is" zero:"/weights"`
	Incoming  string `key:"incoming" default:"" check:"pointer" usage:"where the list of the ids is whose edges lead to the arrival" zero:"/incoming"`
	Types     string `key:"types" default:"" check:"pointer" usage:"where the list of the edges' types is" zero:"/types"`
	EdgeCount string `key:"edge_count" default:"" check:"pointer" usage:"where the number of the arrival's edges is, for attach.wait" zero:"/edge_count"`
	Time      string `key:"time" default:"" check:"pointer" usage:"where the time is" zero:"/time"`
	TimeUnit  string `key:"time_unit" default:"none" oneof:"none|s|ms|us|ns" usage:"unit of a time that is a number since 1970; none: it is text as in RFC 3339"`
	Key       string `key:"key" default:"" check:"pointer" usage:"where the key is under which the prediction is published, a string or a number" zero:"the record's own key"`

	Source string `key:"source" default:"" check:"pointer" usage:"where the source of an edge is that comes as a record of its own; a record that has it, and input.mapping.target, is such an edge" zero:"no record is one by its content, only by the header rivulet-kind"`
	Target string `key:"target" default:"" check:"pointer" usage:"where the target of such an edge is" zero:"as input.mapping.source"`
	Weight string `key:"weight" default:"" check:"pointer" usage:"where the weight of such an edge is" zero:"/weight"`
	In     string `key:"in" default:"" check:"pointer" usage:"where it is said, by true, that such an edge belongs to its target, and not to its source" zero:"/in"`
	Type   string `key:"type" default:"" check:"pointer" usage:"where the type of such an edge is" zero:"/type"`

	NamedTimeUnit string `key:"named_time_unit" default:"auto" oneof:"auto|none|days|s|ms|us|ns" usage:"unit of features by name that are times and come as numbers since 1970; auto: with the presets debezium and connect by the schema beside the record, else by the magnitude (a time within 107 days of 1970-01-01 needs the setting), and with other presets as none; none: times are text as in RFC 3339"`
	Decimals      string `key:"decimals" default:"auto" oneof:"auto|text" usage:"with the presets debezium and connect: how decimals are written that come as text without a schema; auto: digits that could be bytes in base64, such as 1234, are refused for a number; text: they are the number (decimal.handling.mode=string)"`
	Placeholder   string `key:"placeholder" default:"__debezium_unavailable_value" usage:"with the presets debezium and connect: what the connector sends for an unchanged value that it does not have, its unavailable.value.placeholder" zero:"nothing is one"`
	Unavailable   string `key:"unavailable" default:"refuse" oneof:"refuse|missing" usage:"what an arrival is whose features, edges or time have the placeholder; refuse: a dead letter; missing: these count as missing"`
}

func (m Mapping) problems() (found problems) {
	found.when(m.Features != "" && m.Named != "", "named", m.Named, "features is set too: want one of them")
	found.when((m.Source == "") != (m.Target == "") || m.Source == "" && m.Weight+m.In+m.Type != "", "source", m.Source,
		"want source and target, or neither of source, target, weight and in")
	return found
}

// checkPointer accepts a JSON pointer, and # for the whole document.
func checkPointer(pointer string) error {
	if pointer == "#" {
		return nil
	}
	rest := strings.ReplaceAll(strings.ReplaceAll(pointer, "~0", ""), "~1", "")
	if !strings.HasPrefix(pointer, "/") || strings.Contains(rest, "~") {
		return errors.New("want a JSON pointer (RFC 6901) such as /after/user_id, in which ~0 stands for ~ and ~1 for /, " +
			"or # for the whole")
	}
	return nil
}

// Values of [Input.Format] and [Output.Registry] on which wiring branches.
const (
	Confluent        = "confluent" // each record names its schema
	RegistryNone     = "none"      // plain records
	RegistryLookup   = "lookup"    // the schema must be there
	RegistryRegister = "register"  // the schema is registered where it is missing
)

// registryProblems are of settings that need a registry where there is none.
func registryProblems(in Input, r Registry) (found problems) {
	found.when(in.Format == Confluent && len(r.URLs) == 0, "input.format", in.Format,
		"needs a registry, and registry.urls is empty")
	return found
}
