// Command worker does the stages of a training run on the machines of a cluster: trainer train --engine spark sends it there,
// and Spark's TRANSFORM gives it records and takes others. Nobody runs it by hand. See package rivulet/trainer/stage/pipe.
package main

import (
	"os"

	"rivulet/trainer/stage/pipe"
	"rivulet/trainer/stage/solved"
)

func main() { os.Exit(pipe.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, solved.Functions)) }
