package event

// Codec is one wire form of arrivals, edges, predictions and labels, chosen by the content-type header of a record.
type Codec interface {
	// ContentType returns the value of the content-type header, such as "application/json".
	ContentType() string
	// DecodeArrival reads one record into a, reusing a's memory. The error names the field and the value; it wraps
	// no other error than *[FieldError] for callers to branch on.
	DecodeArrival(data []byte, a *Arrival) error
	AppendArrival(dst []byte, a *Arrival) ([]byte, error)
	DecodePrediction(data []byte, p *Prediction) error
	AppendPrediction(dst []byte, p *Prediction) ([]byte, error)
	// DecodeLabel reads one record into l; its error is a *[FieldError], too.
	DecodeLabel(data []byte, l *Label) error
	AppendLabel(dst []byte, l *Label) ([]byte, error)
	// DecodeEdge reads one record into e; its error is a *[FieldError], too.
	DecodeEdge(data []byte, e *Edge) error
	AppendEdge(dst []byte, e *Edge) ([]byte, error)
}
