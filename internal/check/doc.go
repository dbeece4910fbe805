// Package check tries the connections of a consumer before it is run. For each it reports whether it works, and if not,
// the finding and advice. It tells apart failures that look alike in the log of a client that retries: a wrong password
// and a missing ACL, a broker that cannot be reached and one that speaks another protocol, a topic that does not exist
// and one that may not be seen.
//
//	result.go   the result of a check
//	kafka.go    the checks of Kafka: each broker, topics, group
//	kafka_advice.go  advice for a broker's answer
//	topic.go    settings of output topics
//	connect.go  a connection in steps: reach, TLS, protocol, login, metadata
//	explain.go  failures of a step, and advice
//	redis.go    the checks of Redis and of the version it holds
//
// The connections are made step by step and not by the client that the consumer uses: that one hides in which step
// it failed, and in the background tries again. Nothing is written to Kafka, and no member joins the group.
package check
