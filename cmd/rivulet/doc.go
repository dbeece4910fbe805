// Command rivulet has the commands that people run by hand. Each is in a file of its own, with its flags and its help.
package main
