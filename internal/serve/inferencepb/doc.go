// Package inferencepb has the messages of the Open Inference Protocol by gRPC. inference.proto describes them; this
// package's test makes inference.pb.go from it:
//
//	go generate ./internal/serve/inferencepb
package inferencepb

//go:generate go test -run TestGenerated -update .
