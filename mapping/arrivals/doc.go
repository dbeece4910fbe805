// Package arrivals stores the rows of M of arrivals in Redis, beside the rows of one version.
//
// With growth on, each arrival gets a row of M (growth.Grower), and later arrivals attach to it, in any consumer of the
// version. A row is a key that expires: SET writes it in place of the one that the id has, MGET reads it (GET on a
// cluster), UNLINK forgets it. [Table] lists the keys.
package arrivals
