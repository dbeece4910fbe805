// Package client asks `rivulet serve` and the live page while things break. An answer is right, or an error that says
// why there is none, and it comes in time.
//
//	client.go   a client that asks again and again, and what it was answered
//	program.go  the program that it asks, and the form of the page's answers
package client
