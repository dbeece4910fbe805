package read

import (
	"fmt"

	"rivulet/event"
)

// Prediction reads a prediction that Rivulet has published, in the form that its content-type names. In the Confluent
// wire format the id of the schema and, in Protobuf, the place of the message come before it: Rivulet writes its
// predictions by its own schemas.
func Prediction(headers []event.Header, value []byte, p *event.Prediction) error {
	contentType := ContentTypeOf(headers)
	for name, head := range map[string]int{"json": 5, "avro": 5, "protobuf": 6} {
		if contentType == ConfluentContentType(name) && len(value) >= head {
			codec, _ := Payload(name)
			return codec.DecodePrediction(value[head:], p)
		}
	}
	codec, ok := ForContentType(contentType)
	if !ok {
		return fmt.Errorf("content-type is %q, which names no form of predictions", contentType)
	}
	return codec.DecodePrediction(value, p)
}
