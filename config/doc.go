// Package config reads the settings of Rivulet's programs. Each layer overrides the one before it:
//
//	defaults -> file (YAML, --config or RIVULET_CONFIG) -> environment (RIVULET_…) -> flags
//
// A program's settings are a struct, such as [Consumer], made of sections that programs share ([Redis], [Log], …).
// The tags of a field describe it completely, and everything else is derived from them: the key in the file, the
// variable, the flag with its help text, the checks, and REFERENCE.md. A field
//
//	Size int `key:"size" default:"256" min:"1" unit:"arrivals" usage:"most arrivals of a micro-batch"`
//
// in a section with the key batch is batch.size in the file, RIVULET_BATCH_SIZE in the environment and --batch.size
// on the command line. The tags:
//
//	key      the last part of the key; required. An embedded struct without one adds its fields to the enclosing struct
//	default  as it would be written in the environment; required, may be empty
//	usage    its effect, in lower case
//	unit     the thing that is counted; durations and byte sizes carry their unit
//	zero     the meaning of 0, empty or false, if it is not obvious
//	oneof    the words that are allowed, separated by |
//	min, max bounds of a number, duration or byte size, as default is written
//	check    a check by name: address, url, topic, …; see checks.go
//
// A program registers its flags and loads:
//
//	config.Flags[config.Consumer](command.Flags())
//	…
//	cfg, err := config.Load[config.Consumer](config.Sources{Flags: command.Flags(), Environ: os.Environ()})
//
// [Load] reports all faults at once, as an [*Error]: unknown keys with the file, the line and the key that was meant,
// unknown RIVULET_ variables likewise (but RIVULET_CONFIG, RIVULET_DATA and RIVULET_TEST_…, which are not settings),
// and wrong values with the key, the value, its origin and the allowed values. Programs may share a file and an
// environment: a key that only another of Rivulet's programs has is accepted, and not used.
//
// Values are written in YAML as they are on the command line: durations with their unit (5ms, 30s), byte sizes likewise
// (64KiB, 1MB; a bare number is bytes), lists as YAML lists or as a,b. A text that YAML takes for a number, a truth
// value or a time must be quoted.
//
// No password is printed: every format shows xxxxx in place of it in a [RedisURL] and a [Secret]. A [Secret] has no
// flag.
package config
