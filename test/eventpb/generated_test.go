package eventpb

import (
	"testing"

	"rivulet/test/prototest"
)

// The .proto files are named by their paths from the root of the repository. A program may link other .proto files, and
// no two of them may have one name.
func TestGenerated(t *testing.T) {
	prototest.Generated(t, "../..", "event/schema/arrival.proto", "event/schema/prediction.proto",
		"event/schema/label.proto", "event/schema/edge.proto")
}
