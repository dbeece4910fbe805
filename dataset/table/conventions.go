package table

import (
	"fmt"
	"slices"
	"strings"
)

// The names that tables and columns often have, most usual first. Names with a colon or a tilde are headers of Neo4j
// and Amazon Neptune; Gephi has Id, Source and Target, DGL node_id, src_id and dst_id.
var (
	usualIDs = []string{"id", "node_id", "nodeid", "nid", "user_id", "userid", "uid", "~id", ":id", "_id", "node",
		"node idx", "node_idx", "txid", "name", "key"}

	usualLabels = []string{"label", "class", "target", "y", "category", "labels", "class_label", "node_label", "churned",
		"is_fraud",
		"fraud", "modularity_class", "subject", "ml_target", "~label", ":label", "_labels", "genre", "genres"}
	usualSplits  = []string{"split", "fold", "role", "subset", "set", "partition"}
	usualSources = []string{"source", "src", "from", "follower", "source_id", "src_id", "source_node", "from_id",
		"from_node", "source_node_id", "fromnodeid", "~from", ":start_id", "_from", "node1", "node_1", "id1", "id_1", "txid1",
		"head", "u", "a", "_start", "start"}
	usualTargets = []string{"target", "dst", "to", "followee", "target_id", "dst_id", "dest", "dest_id", "destination",
		"tgt", "target_node",
		"to_id", "to_node", "target_node_id", "destination_id", "tonodeid", "~to", ":end_id", "_to", "node2", "node_2", "id2",
		"id_2", "txid2", "tail", "v", "b", "i", "_end", "end"}
	usualWeights = []string{"weight", "w"}
	usualTypes   = []string{"type", "kind", "edge_type", "relation", "relation_type", "rel_type", "relationship",
		"interaction", "action", ":type", "~label"}
	usualNodes = []string{"nodes", "users", "accounts", "vertices", "papers", "items", "node"}
	usualEdges = []string{"edges", "follows", "links", "relations", "relationships", "transactions", "transfers",
		"purchases", "interactions", "edge"}

	// displayNames are columns that show a node to people.
	displayNames = []string{"label", "name", "display_name", "displayname", "title", "fullname", "full_name"}
)

// headerTypes are the types that the headers of Neo4j and Neptune give columns, in lower case, by the names that
// [Settings.Types] has for them.
var headerTypes = map[string]string{
	"byte": "number", "short": "number", "int": "number", "long": "number", "float": "number", "double": "number",
	"bool": "bool", "boolean": "bool", "string": "text", "char": "text", "date": "time", "datetime": "time",
	"localdatetime": "time",
	"ignore":        "ignore", "id": "id", "start_id": "start_id", "end_id": "end_id", "label": "label", "type": "type",
}

// typedName divides a header such as age:Int, :START_ID(Person) or born:Date(single) into name and type; the type is
// empty if the header has none.
func typedName(header string) (name, kind string) {
	k := strings.LastIndexByte(header, ':')
	if k < 0 {
		return header, ""
	}
	kind, _, _ = strings.Cut(strings.ToLower(header[k+1:]), "(")
	if element, isList := strings.CutSuffix(kind, "[]"); isList && headerTypes[element] == "number" {
		return header[:k], "list"
	}
	if kind = headerTypes[kind]; kind == "" {
		return header, ""
	}
	return header[:k], kind
}

// matches reports whether a header belongs to a column with a usual name.
func matches(header, usual string) bool {
	name, kind := typedName(header)
	if strings.HasPrefix(usual, ":") {
		return kind == usual[1:]
	}
	return plain(name) == plain(usual)
}

// plain is the form of a name for comparing: node_id, nodeId and "Node ID" are the same.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", " ", "", "-", "").Replace(name))
}

// KnownName reports whether a text is a name that columns often have.
func KnownName(text string) bool {
	if _, kind := typedName(text); kind != "" || strings.HasPrefix(text, "~") {
		return true
	}
	for _, usual := range [][]string{usualIDs, usualLabels, usualSources, usualTargets, usualWeights, usualSplits} {
		if slices.ContainsFunc(usual, func(name string) bool { return len(name) > 1 && matches(text, name) }) {
			return true
		}
	}
	return false
}

func matchAny(header string, usual []string) bool {
	return slices.ContainsFunc(usual, func(name string) bool { return matches(header, name) })
}

// fewNodes is the number of labelled nodes below which the number of classes is not checked.
const fewNodes = 20

// single reports whether nearly every row has a value of its own.
func (s *survey) single() bool {
	known := s.rows - s.nulls
	return known >= fewNodes && (len(s.distinct) >= fewDistinct || 2*len(s.distinct) > known)
}

// noClasses says why the column's values cannot be classes; empty: they can be.
func (s *survey) noClasses() string {
	if len(s.distinct) == 1 && s.rows >= fewNodes && s.kinds[Bool] == 0 {
		return fmt.Sprintf("has one value, %s", s.sample[0])
	}
	if !s.single() {
		return ""
	}
	sample := ""
	if len(s.sample) > 0 {
		sample = ", such as " + s.sample[0]
	}
	return fmt.Sprintf("has nearly as many classes as nodes, each of its own%s", sample)
}
