// Command trainer makes artifacts from data sets and publishes them to the Redis that consumers follow. A command is a
// file, which has its flags, its checks before the work begins, and its output.
package main
