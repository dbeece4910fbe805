package serve

import (
	"bytes"
	_ "embed" // the description
	"encoding/json"
	"net/http"

	"rivulet/event"
)

// written is the API's description as OpenAPI 3.1, without the schemas of arrivals and predictions. A test compares it
// with the routes and with answers.
//
//go:embed openapi.json
var written []byte

// openAPI is the description with the schemas of package event.
var openAPI = described()

func described() []byte {
	var document map[string]any
	must(json.Unmarshal(written, &document))
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	own := map[string][]byte{"Arrival": event.ArrivalSchema, "Prediction": event.PredictionSchema}
	for name, text := range own {
		var schema map[string]any
		text = bytes.ReplaceAll(text, []byte(`"#/$defs/`), []byte(`"#/components/schemas/`+name+`/$defs/`))
		must(json.Unmarshal(text, &schema))
		delete(schema, "$id") // it is a part of this document here
		delete(schema, "$schema")
		schemas[name] = schema
	}
	text, err := json.Marshal(document)
	must(err)
	return text
}

// must panics: both documents are embedded.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, openAPI) }
