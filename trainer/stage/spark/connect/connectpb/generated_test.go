package connectpb_test

import (
	"testing"

	"rivulet/test/prototest"
)

func TestGenerated(t *testing.T) { prototest.Generated(t, ".", "spark.proto") }
