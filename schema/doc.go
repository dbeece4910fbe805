// Package schema names the features of nodes and says how their values become the row of numbers that a model reads:
// numbers, bools, categories, hashed text, dates and times, and vectors. A schema is fitted on the original nodes,
// kept in the artifact, and applied to every arrival that names its features.
//
// The package is a leaf: it reads no file and knows no graph.
//
// [Fit] chooses a kind for each column of a table, or takes the given one ([ParseKind]), and learns the encoding's
// parameters: categories, means, dates. [Schema.Encode] makes a row of one arrival's fields and [Schema.EncodeColumns]
// rows of a table, number for number the same. [Schema.MarshalJSON] is the artifact's schema.json and [Parse] reads it;
// [Schema.Hash] is the SHA-256 of that text.
//
//	kind      positions                                               from values
//	number    the number                                              number, bool
//	bool      1 or 0                                                  bool, number 1 or 0
//	category  one for each category, 1 at its own; then one for all   text, number, bool
//	          other values, also those too rare to be categories
//	text      buckets of hashed words: counts over their L2 norm      text
//	time      parts of a date in UTC: year, month, day, …             time, RFC 3339 text
//	age       days up to a date, or up to another column's time       time, RFC 3339 text
//	vector    its elements                                            vector of that length
//
// A feature whose rule for missing values is a column has one position more, the last, which is 1 where the value is
// missing.
package schema
