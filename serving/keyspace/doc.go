// Package keyspace names the keys that versions have in Redis ([Keys]), and reads the description of a publication that
// stands in two of them ([Publication], [Meta]).
//
// # Keys in Redis
//
// p is the prefix, v a version's name, g its serial number: each publication draws one, which is never used again,
// also by a Redis that has lost everything in between, so that the data of two publications never have a key in
// common, even under one name.
//
//	p:v:g:rows:b     string  bucket b of the rows of M, with its pages (package mapping)
//	p:v:g:a:id       string  row of M of the arrival id, which expires (arrivals.Table)
//	p:v:g:counts     hash    how many such rows there are, which expires
//	p:v:g:blob:f:i   string  part i of file f of the artifact, of its serving part; 4 MiB a part
//	{p}:v:writing    hash    v is being written: id ("g:content"), generation, content, meta, progress, begun_ms
//	{p}:v:complete   hash    the marker, v is whole: id, generation, content, meta, seal, begun_ms, published_ms,
//	                         current_ms, other_data, forgotten (how many ids were)
//	{p}:versions     set     names of the versions that have one of these two keys
//	{p}:current      string  CURRENT: the version to serve
//	{p}:holders      zset    "v/consumer" -> when its heartbeat lapses, ms of Redis' clock
//	{p}:deleting     hash    "v/g" -> meta: data without any reference, which are being removed
//	{p}:generation   string  the last serial number that was drawn (fields and key say generation)
//
// meta is JSON: the layout of these keys (1), the numbers of rows, of buckets and of a bucket's pages, the hash
// function, and for each file its parts, size and SHA-256. seal is a checksum of all rows of M.
// content is a SHA-256 over the files, the manifest among them, which has M's. The braces of the control keys
// are a hash tag: on a Redis cluster they share one slot, so that scripts over them are atomic, while rows and files
// spread over the nodes. Only keys of arrivals expire by themselves; a publisher, and a consumer that starts, refuse a
// Redis whose eviction policy removes keys without an expiry (maxmemory-policy allkeys-…).
package keyspace
