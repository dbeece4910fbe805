// Command worker does the stages of a training run on the machines of a cluster: trainer train --engine spark sends it
// there, and Spark's TRANSFORM gives it records and takes others. Nobody runs it by hand. See package
// rivulet/trainer/stage/pipe.
package main

import (
	"fmt"
	"os"

	"rivulet/trainer/stage/pipe"
	"rivulet/trainer/stage/solved"
)

const help = `worker does a stage of a training run on one machine of a Spark cluster: Spark starts it with the file of
a job, gives it records on standard input and takes others from standard output. Nobody runs it by hand. docs/scale.md
says where it has to lie.

Usage:
  worker JOB

Examples:
  trainer train --data tables --engine spark --spark sc://spark:15002 --work hdfs:///rivulet/work --out out/shop
`

func main() {
	if len(os.Args) == 2 && (os.Args[1] == "--help" || os.Args[1] == "-h") {
		fmt.Print(help)
		return
	}
	os.Exit(pipe.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, solved.Functions))
}
