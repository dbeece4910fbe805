// Package demo runs the main job in one process: train on a data set, or take an artifact of it, publish to an
// embedded Redis, start an embedded broker and the consumer, stream the test nodes as arrivals, read the
// predictions topic, and compare with the model on the whole graph.
//
// Only the services are embedded. The arrivals pass through the same consumer as in production, over sockets.
//
// [Run] does this once. [Page] serves the live page beside it, and sends arrivals on until it is stopped. [Grow]
// withholds half of the training nodes, which arrive with the test nodes, and shows what an arrival gains if earlier
// arrivals are its neighbours.
package demo
