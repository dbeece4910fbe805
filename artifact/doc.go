// Package artifact reads and writes the output of training for serving: the synthetic graph S, models with their frozen
// tables, and the mapping M, as a [Bundle] in memory and a directory on disk.
//
//	manifest.json, manifest.sha256   description, and the checksums of all files
//	synthetic.safetensors            A' N'×N', X' N'×d, Y' N', and the preprocessing's vectors
//	models/NAME.safetensors          a model's weights and its tables of S
//	mapping.safetensors              M N×N' and the ids of its rows
//	mapping/00000.safetensors, …     instead, where it has more than PartRows rows: [Bundle.Pieces] reads part by part
//	growth.safetensors               optional: the dictionary for rows of M of arrivals
//	schema.json                      optional, a part of format 2: rows of features of named values
//	map.safetensors                  optional: S in the plane with a legend, for people
//
// FORMAT.md describes the format for other programs; the tensor files open with safetensors.numpy.load_file.
//
// # Making one
//
// A trainer fills a Bundle, with the Manifest except for FormatVersion, Version and Files, and calls [Write], which
// completes these. The directory must be new or empty ([CheckTarget] tells before the work): an artifact is never
// changed in place, and a crash at any moment leaves the directory as it was or the whole artifact. A bundle that is
// served without being written is completed by [Bundle.Seal].
//
// # Reading one
//
// [Read] gives a whole, checked bundle or an error with the file, the field or tensor, and the reason. Serving relies
// on the bundle and checks no shapes or values again: [Bundle.Validate] is the list of checks, and runs before writing
// and after reading. Only a trainer needs what S teaches models by: [ReadSpread] reads it; Read compares
// its SHA-256 and keeps nothing.
//
// # The map
//
// [Bundle.Map] is nil, or S as a picture: a place in the plane for each synthetic node, its mass, class shares,
// heaviest nodes of T (unless ids were left out) and strongest features, whose names come from [Bundle.Schema]. It is
// in the serving part, and a reader that does not know it reads the rest rightly.
//
// # The serving part
//
// A consumer needs everything but the spread and M, whose rows it looks up by id. [EncodeServing] returns that part as
// files by name, byte for byte as they are in the directory, and [DecodeServing] reads them with the same checks.
//
// # Where things are
//
//	bundle.go, manifest.go   the types; names of versions
//	manifestjson.go          manifest.json: fields, ranges, checksum
//	growth.go                the dictionary for rows of M of arrivals, in memory and as tensors
//	spread.go                what S teaches models by, in memory and as tensors
//	edges.go                 which tables an edge reads: slots by weight, or by type and direction
//	candidates.go            the nodes with which a task of links answers
//	own.go                   the perceptron of own features, as tensors, and the expert of a model
//	map.go                   the map, in memory and as tensors: [Map] gives the shape of each of its fields
//	safetensors              a package: files of tensors
//	baseline                 a package: figures of the validation nodes, to compare a stream with, and for abstention
//	requires.go              the parts that a reader of format 2 must know
//	rows.go                  M as rows in parts: written, read one part at a time, joined
//	files.go                 the list of files, and the tensors of those without a file of their own below
//	fields.go                the visit of a file's tensors, which writes, reads or checks them
//	validate.go              checks of the bundle as a whole
//	serving.go               bundle ↔ files by name
//	read.go, write.go        files by name ↔ directory
package artifact
