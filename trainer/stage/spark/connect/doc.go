// Package connect is a client of Spark Connect, as far as a driver of SQL needs one: run a statement, read the strings
// of a small answer, make a file available to the tasks.
//
//	Parse    sc://host:port, the address in the form of all Spark Connect clients
//	Session  a session in the server, with its settings and files
//
// The calls are gRPC's, by connectrpc.com/connect over net/http; the messages are in package connectpb. An answer whose
// stream breaks goes on where it broke: the statement runs in the server meanwhile. Answers are Arrow streams; this
// package reads one column of strings of them and nothing else.
package connect
