// Package layout holds no code. Its tests read every Go file of the module and check the directions in which packages
// import one another, and what no program may reach, not even through others:
//
//	graph <- infer <- artifact <- mapping <- serving      the artifact's way into a consumer
//	graph <- infer <- artifact, dataset <- trainer        the way to an artifact; it never sees serving
//	event                                                 the wire contract; imports no other package
//	kafka/{retry,wire} <- kafka                           the only importers of kafka-go, below all others
//	event, infer, graph, kafka <- consumer                the path of a record, with interfaces that it declares itself
//	event, kafka <- producer                              never consumer
//	config <- run                                         settings become running parts
//	internal/refresh, internal/replay                     run by commands; they see no settings
//
// Wiring is for cmd and internal/demo, the body of cmd/demo, alone: only they import config, run, run/connect,
// internal/devstack, internal/cli, internal/refresh and internal/replay; run imports config, too.
//
// test/reference, the slow oracle, test/harness, test/chaos and the other helpers of tests are for tests
// only.
package layout
