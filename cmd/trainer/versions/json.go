package versions

import (
	"encoding/json"
	"io"
	"time"

	"rivulet/serving"
)

// listedVersion is a version in the output of versions --json: names and meanings stay, new fields may come
// (docs/operate.md). Times are by Redis' clock, in UTC, and left out if it has not happened.
type listedVersion struct {
	Version        string    `json:"version"`
	State          string    `json:"state"` // writing, complete or deleting
	Current        bool      `json:"current"`
	Serial         int64     `json:"serial"`
	Content        string    `json:"content,omitempty"` // SHA-256 of its files, hex
	Rows           int       `json:"rows"`
	SyntheticNodes int       `json:"synthetic_nodes"`
	FileBytes      int64     `json:"file_bytes"`
	Holders        []string  `json:"holders"`
	Begun          time.Time `json:"begun,omitzero"`
	Published      time.Time `json:"published,omitzero"`
	LastServed     time.Time `json:"last_served,omitzero"`
}

// writeVersions writes the versions as one JSON list, oldest first.
func writeVersions(w io.Writer, infos []serving.VersionInfo) error {
	listed := make([]listedVersion, len(infos))
	for i, v := range infos {
		holders := v.Holders
		if holders == nil {
			holders = []string{}
		}
		listed[i] = listedVersion{
			Version: v.Version, State: string(v.State), Current: v.Current,
			Serial: v.Serial, Content: v.Content,
			Rows: v.Rows, SyntheticNodes: v.Synthetic, FileBytes: v.FileBytes, Holders: holders,
			Begun: v.Begun.UTC(), Published: v.Published.UTC(), LastServed: v.LastServed.UTC(),
		}
	}
	return json.NewEncoder(w).Encode(listed)
}
