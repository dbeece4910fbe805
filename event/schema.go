package event

import _ "embed" // for the schema files

// ArrivalSchema, PredictionSchema and LabelSchema are JSON Schemas (draft 2020-12) of the JSON forms. They are for
// producers and readers in other languages; [JSON] does not evaluate them. Not to be written to.
var (
	//go:embed schema/arrival.schema.json
	ArrivalSchema []byte
	//go:embed schema/prediction.schema.json
	PredictionSchema []byte
	//go:embed schema/label.schema.json
	LabelSchema []byte
)
