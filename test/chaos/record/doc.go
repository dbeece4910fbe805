// Package record makes the records that package chaos sends: arrivals in each form that a consumer reads, and records
// that nobody can predict.
package record
