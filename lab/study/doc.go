// Package study measures more than one run: methods, models and sizes over seeds ([Run]), the gain from rows of M for
// arrivals ([Grow]), and what lost edges cost ([Missing]).
package study
