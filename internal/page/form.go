package page

import (
	"fmt"

	"rivulet/event"
	"rivulet/event/form"
	"rivulet/kafka"
)

// formOf returns a prediction's codec and its payload: in the Confluent wire format the bytes behind the schema's id
// and, in Protobuf, behind the place of the message. Rivulet writes its predictions by its own schemas.
func formOf(rec *kafka.Record) (event.Codec, []byte, error) {
	contentType := form.ContentTypeOf(rec.Headers)
	for name, head := range map[string]int{"json": 5, "avro": 5, "protobuf": 6} {
		if contentType == form.ConfluentContentType(name) && len(rec.Value) >= head {
			codec, _ := form.Payload(name)
			return codec, rec.Value[head:], nil
		}
	}
	codec, ok := form.ForContentType(contentType)
	if !ok {
		return nil, nil, fmt.Errorf("content-type is %q, which names no form of predictions", contentType)
	}
	return codec, rec.Value, nil
}
