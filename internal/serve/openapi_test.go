package serve

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"rivulet/test/expect"
)

// The description has every route and no other, says which need no token, and its schemas are those of the answers.
func TestDescription(t *testing.T) {
	a := start(t, nil)
	got := a.get(openAPIPath)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.body))
	if err != nil || got.header.Get("Content-Type") != "application/json" {
		t.Fatal(err, got.header)
	}
	root := document.(map[string]any)
	var described, routes []string
	for path, item := range root["paths"].(map[string]any) {
		for method, operation := range item.(map[string]any) {
			security, stated := operation.(map[string]any)["security"].([]any)
			described = append(described, operationName(strings.ToUpper(method), path, stated && len(security) == 0))
		}
	}
	for _, r := range a.server.routes() {
		routes = append(routes, operationName(r.method, r.path, r.open))
	}
	slices.Sort(described)
	slices.Sort(routes)
	if !slices.Equal(described, routes) {
		t.Errorf("described are\n%s\nthe routes are\n%s", strings.Join(described, "\n"), strings.Join(routes, "\n"))
	}

	compiler := jsonschema.NewCompiler()
	expect.OK(t, compiler.AddResource("api.json", document))
	for _, c := range []struct {
		name, path, body, status string
	}{
		{"one prediction", predictPath, arrival, "200"},
		{"several", predictPath, "[" + arrival + `,{"id":1}]`, "200"},
		{"an arrival that cannot be predicted", predictPath, `{"id":1}`, "422"},
		{"an explanation", explainPath, arrival, "200"},
		{"a body of another form", predictPath, ``, "400"},
	} {
		at := "api.json#/paths/" + strings.ReplaceAll(c.path, "/", "~1") + "/post/responses/" + c.status +
			"/content/application~1json/schema"
		schema, err := compiler.Compile(at)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := a.post(c.path, c.body)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.body))
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil || http.StatusText(got.status) == "" || !strings.HasPrefix(c.status, string('0'+rune(got.status/100))) {
			t.Errorf("%s: %d %s: %v", c.name, got.status, got.body, err)
		}
	}
}

func operationName(method, path string, open bool) string {
	if open {
		path += " without a token"
	}
	return method + " " + path
}
