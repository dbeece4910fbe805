// Package eventpb is the Go code that protoc-gen-go makes of ../schema/arrival.proto, ../schema/prediction.proto and
// ../schema/label.proto, for Go programs that write arrivals or labels or read predictions in Protobuf and for tests.
// Checks of records (required fields, ranges of numbers) are in package event/protobuf, which reads and writes the same
// bytes without these types: see "Why protowire" in package event.
//
// After a change of a .proto file run go generate ./test/eventpb; a test compares. It needs no protoc: the test
// compiles the files with protocompile and calls protoc-gen-go's generator, of the version that go.mod names.
package eventpb

//go:generate go test -run ^TestGenerated$ -update
