// Package check tries the connections of a consumer before it is run, and says of each whether it works, what was
// found where it does not, and what to do. It tells apart what looks alike in the log of a client that retries: a
// wrong password and a missing ACL, a broker that cannot be reached and one that speaks another protocol, a topic
// that does not exist and one that may not be seen.
//
//	result.go   what a check says
//	kafka.go    the checks of Kafka: each broker, topics, group
//	kafka_advice.go  what to do about a broker's answer
//	topic.go    settings of topics that are written to
//	connect.go  a connection in steps: reach, TLS, protocol, login, metadata
//	explain.go  what went wrong in a step, and what to do
//	redis.go    the checks of Redis and of the version it holds
//
// The connections are made step by step and not by the client that the consumer uses: that one hides in which step
// it failed, and in the background tries again. Nothing is written to Kafka, and no member joins the group.
package check
