// Package stream is one stream of a run of package chaos: topics, a load, the consumers of one group, and readers that
// note what was sent and answered.
package stream
