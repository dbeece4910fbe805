// Command rivulet has the commands that people run by hand. Each is in a file of its own, with its flags and its help:
//
//	demo.go, devstack.go, bench.go  the whole in one process, a stack to develop against, measurements
//	predict.go, explain.go          arrivals as JSON lines, answered or explained; lines.go: the flags of both
//	repredict.go                    arrivals that the topic still has, predicted again
//	serve.go, page.go               answers over HTTP, the live page
//	replay.go, deadletters.go       a data set sent as a stream, dead letters shown or sent again
//	features.go, generate.go        features by id put into Redis, data sets drawn at random
//	compare.go                      the candidate beside the version that serves
//	inspect.go                      an artifact in words; inspect_json.go: as JSON; inspectschema.go: its named features
//	main.go                         the root of the commands; collect_heap.go: a build by which a test watches the heap
package main
