// Package versions publishes artifacts while faults happen, and knows what each version says of every arrival.
//
//	publish.go  artifacts that are published, also by publishers that are killed
//	learn.go    what versions say, computed by `rivulet predict` without any service
package versions
