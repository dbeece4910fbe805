// Package layout holds no code. Its test reads every Go file of the module and holds the directions in which packages
// import one another:
//
//	graph <- infer <- artifact <- mapping <- serving      the artifact's way into a consumer
//	graph <- infer <- artifact, dataset <- trainer        the way to an artifact; it never sees serving
//	event                                                 the wire contract, a leaf
//	event, infer, graph <- consumer                       the path of a record, and interfaces that it declares itself
//	event <- producer                                     never consumer
//	config, internal/app, internal/devstack               wiring: only cmd and the demo, a command's body, see them;
//	                                                      and internal/app itself sees config
//
// internal/reference, the slow oracle, and the helpers of tests are for tests only.
package layout
