package table

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Python describes how a file that this program does not read becomes tables: in Python, which has readers of most
// forms.
func Python(file string) string {
	base := filepath.Base(file)
	ext := strings.ToLower(filepath.Ext(strings.TrimSuffix(base, ".gz")))
	read := ""
	switch ext {
	case ".gml", ".graphml", ".gexf", ".net":
		read = map[string]string{".gml": "read_gml", ".graphml": "read_graphml", ".gexf": "read_gexf",
			".net": "read_pajek"}[ext]
		return fmt.Sprintf(`networkx reads it: rivulet_mcond.export.export(networkx.%s(%q), "DIR")`, read, base)
	case ".pt", ".pth":
		return fmt.Sprintf("PyTorch reads it: python -m rivulet_mcond.export %s DIR", base)
	case ".npz":
		return fmt.Sprintf(`SciPy reads it: rivulet_mcond.export.export(scipy.sparse.load_npz(%q), "DIR")`, base)
	case ".mtx":
		return fmt.Sprintf(`SciPy reads it: rivulet_mcond.export.export(scipy.io.mmread(%q), "DIR")`, base)
	case ".yaml", ".yml":
		return "it describes the form of a graph library: python -m rivulet_mcond.export dgl:CSVDataset DIR --argument " +
			"data_path=."
	case ".pkl", ".pickle", ".p":
		read = fmt.Sprintf("pandas.read_pickle(%q)", base)
	case ".json", ".jsonl", ".ndjson":
		read = fmt.Sprintf("pandas.read_json(%q)", base)
	case ".xlsx", ".xls":
		read = fmt.Sprintf("pandas.read_excel(%q)", base)
	case ".feather", ".arrow":
		read = fmt.Sprintf("pandas.read_feather(%q)", base)
	case ".npy":
		read = fmt.Sprintf("pandas.DataFrame(numpy.load(%q))", base)
	default:
		read = fmt.Sprintf("pandas.read_csv(%q, header=None, skiprows=1)", base)
	}
	return fmt.Sprintf(`pandas reads it: df = %s; rivulet_mcond.tables.write("DIR", nodes=…, edges=df, id=…, label=…, `+
		`source=…, target=…)`, read)
}
