package event

import _ "embed" // for the schema files

// ArrivalSchema, PredictionSchema, LabelSchema and EdgeSchema are JSON Schemas (draft 2020-12) of the JSON forms. They
// are for producers and readers in other languages; [json.Codec] does not evaluate them. Not to be written to.
var (
	//go:embed schema/arrival.schema.json
	ArrivalSchema []byte
	//go:embed schema/prediction.schema.json
	PredictionSchema []byte
	//go:embed schema/label.schema.json
	LabelSchema []byte
	//go:embed schema/edge.schema.json
	EdgeSchema []byte
)

// ArrivalAvro, PredictionAvro, LabelAvro and EdgeAvro are the Avro schemas of the records that [avro.Codec] reads and
// writes.
var (
	//go:embed schema/arrival.avsc
	ArrivalAvro string
	//go:embed schema/prediction.avsc
	PredictionAvro string
	//go:embed schema/label.avsc
	LabelAvro string
	//go:embed schema/edge.avsc
	EdgeAvro string
)

// PredictionProto is the Protobuf schema of predictions, for a registry.
//
//go:embed schema/prediction.proto
var PredictionProto string
