// Package featurestore has the features of arrivals that do not bring them, by their ids, in Redis.
//
// # Keys in Redis
//
// One string a node, under the key PREFIX followed by the node's id, with nothing between them: features:u-17. The
// value is in one of the forms that read.FeatureForm has, the same for all keys; which one is a setting, since no
// byte of a value tells them apart:
//
//	float32   all d values of the row as float32, little-endian: 4·d bytes, as NumPy's x.astype("<f4").tobytes() gives
//	json      the JSON text that an arrival has under "features": [0.5, 1], {"indices": [3], "values": [2]}, or
//	          {"named": {"age": 41.5, "country": "DE"}} for an artifact with a schema
//
// A missing key, or an empty value, means that the id has no features. The user writes the keys and sets their expiry;
// [Store.Put] writes them for trials. The Redis may be another one than for the rows of M, with a user of its own that
// needs only PING, HELLO and GETRANGE.
//
// # How it is read
//
// The features of one batch are one pipelined request, of one GETRANGE an id. Each asks for its share of [answerBytes]
// only, so that large values cannot make an answer large. Values that are longer than that are asked for again, a few
// at a time. A value of another type, or one that cannot be read, is a fault of that id alone; a Redis that does not
// answer is an error of the whole request, which the caller tries again; missing rights and a wrong password are errors
// that trying again does not cure (mapping.Final).
package featurestore
