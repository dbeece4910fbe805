package config

import (
	"testing"

	"rivulet/test/expect"
)

const (
	tokens = "kafka: {sasl: {mechanism: oauthbearer, oauth: {token_url: 'http://i/token', client_id: me, client_secret_file: f"
	params = "RIVULET_KAFKA_SASL_OAUTH_PARAMETERS"
)

// Names with values come from a file's section or text, from the environment, and from flags, which may be repeated.
// The last of these layers counts as a whole.
func TestNamesWithValues(t *testing.T) {
	both := Map{"audience": "kafka", "resource": "urn:a,b"}
	for name, from := range map[string]Sources{
		"section":        sources(t, tokens+", parameters: {audience: kafka, resource: 'urn:a,b'}}}}", nil),
		"block":          sources(t, tokens+", parameters: {\"audience\": \"kafka\",\n  resource: 'urn:a,b'}}}}", nil),
		"text in a file": sources(t, tokens+", parameters: 'audience=kafka,\"resource=urn:a,b\"'}}}", nil),
		"environment":    sources(t, tokens+"}}}", []string{params + `=audience=kafka, "resource=urn:a,b"`}),
		"flag":           sources(t, tokens+"}}}", nil, `--kafka.sasl.oauth.parameters=audience=kafka,"resource=urn:a,b"`),
		"flags": sources(t, tokens+"}}}", nil, "--kafka.sasl.oauth.parameters=audience=kafka",
			`--kafka.sasl.oauth.parameters="resource=urn:a,b"`),
		"a flag after others": sources(t, tokens+", parameters: {a: b}}}}", []string{params + "=c=d"},
			`--kafka.sasl.oauth.parameters=audience=kafka,"resource=urn:a,b"`),
	} {
		cfg, err := Load[Consumer](from)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		expect.Same(t, both, cfg.Kafka.SASL.OAuth.Parameters, "%s", name)
		again, err := parseMap(both.String())
		expect.OK(t, err)
		expect.Same(t, both, again, "as text: %s", both)
	}
	cfg, err := Load[Consumer](sources(t, tokens+", parameters: {}, extensions: {logicalCluster: lkc-1}}}}", nil))
	if o := cfg.Kafka.SASL.OAuth; err != nil || len(o.Parameters) != 0 || o.Extensions["logicalCluster"] != "lkc-1" {
		t.Errorf("%+v, %v", o, err)
	}
	var shown string
	for _, s := range Shown(cfg) {
		if s.Key == "kafka.sasl.oauth.extensions" {
			shown = s.Value
		}
	}
	expect.Same(t, "logicalCluster=lkc-1", shown, "for people")
	// A section of another program's map is passed over as its other settings are.
	expect.OK(t, expect.ErrorOf(Load[Serve](sources(t, tokens+", parameters: {a: b}}}}\nartifact: x", nil))))
}

func TestBadNamesWithValues(t *testing.T) {
	const parameters, extensions = "kafka.sasl.oauth.parameters", "kafka.sasl.oauth.extensions"
	for text, want := range map[string][]string{
		"parameters: {audience: 7}":          {parameters, `"audience" is 7, want a text; put it in quotes`, "yaml:1"},
		"parameters: {audience: [a]}":        {parameters, `"audience" is [a], want a text`},
		"parameters: {audience: {a: b}}":     {parameters, `"audience" is map[a:b], want a text`},
		"parameters: {audience: }":           {parameters, `"audience" is <nil>, want a text`},
		"parameters: {'': x}":                {parameters, "a name is empty"},
		"parameters: [audience=kafka]":       {parameters, "want a section of names and values"},
		"parameters: 7":                      {parameters, "want a section of names and values"},
		"parameters: ":                       {parameters, "no value"},
		"parameters: audience":               {parameters, `"audience": want name=value`},
		"parameters: 'a=b,a=c'":              {parameters, `"a" is there twice`},
		"parameters: '=c'":                   {parameters, "want name=value"},
		"parameters: 'a=\"b'":                {parameters, "want name=value,other=value"},
		"parameters: \"a=b\\nc=d\"":          {parameters, "want name=value,other=value"},
		"parameters: {grant_type: password}": {parameters, "it is always client_credentials"},
		"parameters: {client_secret: x}":     {parameters, "set kafka.sasl.oauth.client_secret_file"},
		"parameters: {scope: x}":             {parameters, "set kafka.sasl.oauth.scopes"},
		"extensions: {auth: x}":              {extensions, "auth"},
		"extensions: {a-b: x}":               {extensions, "letters only"},
		"extensions: {pool: ''}":             {extensions, "printable ASCII"},
		"extensions: {pool: \"a\\x01b\"}":    {extensions, "printable ASCII"},
		"parameter: {a: b}":                  {"kafka.sasl.oauth.parameter", "unknown key", parameters},
	} {
		expect.Error(t, expect.ErrorOf(Load[Consumer](sources(t, tokens+", "+text+"}}}", nil))), want[0], "%s", text)
		for _, w := range want[1:] {
			expect.Error(t, expect.ErrorOf(Load[Consumer](sources(t, tokens+", "+text+"}}}", nil))), w, "%s", text)
		}
	}
	for _, text := range []string{"audience", "a=b,", `a="b`} {
		_, err := Load[Consumer](sources(t, tokens+"}}}", []string{params + "=" + text}))
		expect.Error(t, err, parameters, "%s", text)
		expect.Error(t, err, params, "%s", text)
		_, err = Load[Consumer](sources(t, tokens+"}}}", nil, "--"+parameters+"="+text))
		expect.Error(t, err, "--"+parameters, "%s", text)
	}
	_, err := Load[Consumer](sources(t, "kafka: {sasl: {oauth: {parameters: {a: b}}}}", nil))
	expect.Error(t, err, "has no effect, because kafka.sasl.mechanism is none", "without the mechanism")
}
