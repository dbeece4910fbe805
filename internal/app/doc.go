// Package app wires a configuration to running parts: only it knows all of them.
//
//	consumer.go  RunConsumer: settings -> pipelines, each of versions, producer, consumer, metrics; runs and ends
//	             them in order
//	serve.go     RunServe: the same for arrivals over HTTP
//	page.go      RunPage: the same for the live page
//	check.go     Check: settings -> checks of all connections, and of the partitions of edges of their own;
//	             Lint: settings -> faults of the files that they name
//	lines.go     PredictLines: the path of a record without services, JSON lines in, JSON lines out
//	explain.go   ExplainLines: the same for explanations
//
// The parts that they are made of:
//
//	versions.go  where versions come from: Redis, or a pinned directory
//	run.go       Run: settings and log of a program; SIGHUP
//	debug.go     profiles and settings over HTTP
//	services.go  background services, and their end
//	kafka.go     settings -> connections to Kafka: TLS, SASL, logins
//	oauth.go     a login's tokens, from an issuer
//	connect.go   settings -> a client of Redis
//	tls.go       settings -> the TLS of clients, with certificates that are read again
//	tokens.go    the bearer tokens of serve and page, from settings or a file that is looked at with every request
//	codec.go     settings -> the forms of records, in and out, and the schema registry
//	features.go  settings -> features by id
//	repredict.go Repredict: arrivals that the topic still has, predicted again
//	repartition.go other topics that are brought to the topic of arrivals
//	forget.go    an id is forgotten: its row, note and stored features are removed
//	labels.go    labels that are read beside arrivals and compared with predictions
//	candidate.go a candidate beside the version that serves: compared, or as a canary
//	both.go      two observers as one
//	advice.go    advice for refusals by Redis
package app
