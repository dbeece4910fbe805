package event

import _ "embed" // for the schema file

// PredictionProto is the Protobuf schema of predictions, for a registry.
//
//go:embed schema/prediction.proto
var PredictionProto string
