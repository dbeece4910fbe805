package inferencepb_test

import (
	"testing"

	"rivulet/test/prototest"
)

func TestGenerated(t *testing.T) { prototest.Generated(t, ".", "inference.proto") }
