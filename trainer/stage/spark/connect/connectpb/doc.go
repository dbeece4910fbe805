// Package connectpb is the part of Spark Connect's protocol that package connect speaks. spark.proto has the messages;
// this package's test makes spark.pb.go from it:
//
//	go generate ./trainer/stage/spark/connect/connectpb
package connectpb

//go:generate go test -run TestGenerated -update .
