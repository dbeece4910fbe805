package eventpb

import (
	"testing"

	"rivulet/test/prototest"
)

// The .proto files are named from the root of the repository: a program that links these types knows them by these
// names, which must differ from those of every other .proto file that it links.
func TestGenerated(t *testing.T) {
	prototest.Generated(t, "../..", "event/schema/arrival.proto", "event/schema/prediction.proto",
		"event/schema/label.proto", "event/schema/edge.proto")
}
