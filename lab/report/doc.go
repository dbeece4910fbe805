// Package report draws measured results as one HTML page that needs no other file: plots are SVG inside it, there
// is no script, and nothing is fetched.
//
// [Write] takes a [Page] of plain numbers. A part that is missing is left out, and the page names the command that
// would add it. The same page gives the same bytes.
//
//	section       content                                                    from
//	results       the rows of section 8 of docs/algorithm.md                      Page.Results
//	losses        L_gra and L_str by steps on S, L_tra and L_ind by steps    Page.Learned
//	              on M
//	ratio         accuracy against N'/N, methods as lines, Whole across      Page.Results of two sizes or more
//	sparsity      accuracy against the sparsity of M: over δ (learned),      Page.Sparsity
//	              over k (solved)
//	sensitivity   accuracy over λ and over β                                 Page.Sensitivity
//	mapping       mean weight of M by classes, before and after training     Page.Heat
//	starts        L_tra and L_ind from a class-aware and a random M          Page.Starts
//	cost          milliseconds a batch and bytes, O beside S                 Page.Results
//	confusion     labels against predictions, Whole beside S                 Page.Results that count them
//	stream        accuracy and known edges along a stream                    Page.Streams
//	reliability   share that is right against probability                    Page.Results that bin them
//
// Every plot is readable without its colours: lines differ in marker and dash, bars and cells carry their figures,
// and the numbers stand in a table beneath. Colours are variables of the page's style sheet (theme.go), so that one
// SVG serves light, dark and print.
//
// Files: page.go the input and its checks, write.go the sections in order. A section is a file: summary.go, results.go,
// losses.go, ratio.go, sparsity.go, stream.go, mapping.go (also starts), cost.go, predictions.go (confusion,
// reliability). Beneath them are chart.go (lines), bars.go, cells.go, glyphs.go (markers), axis.go (ticks), svg.go and
// theme.go.
package report
