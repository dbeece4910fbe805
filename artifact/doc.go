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
package artifact
