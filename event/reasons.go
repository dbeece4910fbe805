package event

// Reasons of dead letters, as metrics, alerts and the header rivulet-reason name them. [Reasons] says what each one
// means: a new reason is a constant here and a row there. README.md, asyncapi.yaml and the Python package are written
// from the rows by `make reference`; metrics, the live page and tests read them.
const (
	ReasonUnparsable        = "unparsable"
	ReasonContentType       = "content_type"
	ReasonFeatureLength     = "feature_length"
	ReasonNotFinite         = "not_finite"
	ReasonFeatureUnknown    = "feature_unknown"
	ReasonFeatureType       = "feature_type"
	ReasonFeatureMissing    = "feature_missing"
	ReasonFeaturesAbsent    = "features_absent"
	ReasonFeaturesStored    = "features_stored"
	ReasonSchema            = "schema"
	ReasonTooManyEdges      = "too_many_edges"
	ReasonEdgeUnmatched     = "edge_unmatched"
	ReasonTooLarge          = "too_large"
	ReasonPredictionRefused = "prediction_refused"
)

// DeadLetterReason explains a reason of dead letters.
type DeadLetterReason struct {
	// Name is the word that records, metrics and alerts carry.
	Name string
	// Sentence explains the reason to a person.
	Sentence string
	// OfVersion says that another version of the artifact might predict the same record. A reason of the record stays
	// until its producer, a limit or a store changes.
	OfVersion bool
}

// Reasons has all reasons of dead letters.
var Reasons = [...]DeadLetterReason{
	{ReasonUnparsable, "The record is not of its content-type, a required field is missing, or a field has the wrong " +
		"type.", false},
	{ReasonContentType, "The content-type header names a form that Rivulet does not read.", false},
	{ReasonFeatureLength, "The number of features, or an index, does not fit the model; or values and indices differ in " +
		"number.", true},
	{ReasonNotFinite, "A feature is NaN, infinite, null or beyond float32; or the model's output is not finite, because " +
		"features or a weight are too far from those of training.", true},
	{ReasonFeatureUnknown, "The artifact's schema has no feature of a name (unless input.unknown_features is ignore).",
		true},
	{ReasonFeatureType, "A named value is of a type that its feature is not made of, such as a string for a number.",
		true},
	{ReasonFeatureMissing, "A named value is missing, and the schema says to refuse that; or a connector sent its " +
		"placeholder for an unchanged value.", true},
	{ReasonFeaturesAbsent, "The record brings no features, and none are stored under its id (features.from is redis).",
		false},
	{ReasonFeaturesStored, "The features that are stored under the record's id cannot be read: they are not in the form " +
		"of features.format, or too long.", false},
	{ReasonSchema, "Features are by name and the artifact has no schema; or they are by position, and the header " +
		"rivulet-schema has the hash of another schema.", true},
	{ReasonTooManyEdges, "The record has more edges than limits.edges.", false},
	{ReasonEdgeUnmatched, "No arrival waited in its partition for this edge, which is a record of its own.", false},
	{ReasonTooLarge, "The record is larger than limits.record_bytes, an id longer than limits.id_bytes, or its key and " +
		"id together longer than 128 KiB.", false},
	{ReasonPredictionRefused, "The brokers refuse the prediction: it is larger than max.message.bytes of its topic, or " +
		"they name another reason, which the detail repeats.", true},
}

// Whose says whether a reason is of the record or of the version.
func (r *DeadLetterReason) Whose() string {
	if r.OfVersion {
		return "version"
	}
	return "record"
}
