// Package connectpb is the part of Spark Connect's protocol that package connect speaks. spark.proto has the messages;
// spark.pb.go is made of it by the test of this package:
//
//	go generate ./trainer/stage/spark/connect/connectpb
package connectpb

//go:generate go test -run TestGenerated -update .
