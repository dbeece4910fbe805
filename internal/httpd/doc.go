// Package httpd runs the HTTP servers of the programs: the API of `rivulet serve`, the live page, and the port of
// metrics and health. All three have the same bounds, whatever clients do:
//
//   - Deadlines (run.go). A header, a body, an answer and an idle connection each have one. A body that the handler
//     does not read, as in a request without a token, is waited for briefly, too, so that the refusal is answered.
//   - Connections (door.go). Their number is bounded. A new one takes the place of the connection that has been silent
//     for the longest time; connections that never sent a request go first. If all are busy, requests are answered 503,
//     except probes of health, which have a reserve.
//   - A stop (run.go). Requests that are being worked on are finished. Connections without a request are closed after a
//     second, clients that send or read nothing at the end of the drain. Only unfinished work is an error.
//
// Origin (origin.go) refuses requests that a browser sends for another site's page.
// Tokens says which tokens requests may bring; Bearer reads the token of one (tokens.go).
package httpd
