package candidate

import (
	"encoding/json"
	"time"
)

// Actions and authors of decisions.
const (
	ActionPublish   = "publish"   // published, and made CURRENT
	ActionActivate  = "activate"  // made CURRENT by hand, to roll back or forward
	ActionCandidate = "candidate" // published beside CURRENT
	ActionPromote   = "promote"   // CANDIDATE made CURRENT
	ActionAbort     = "abort"     // CANDIDATE given up

	ByHand = "hand"
	ByRule = "rule"
)

// Decision is an entry of the history of CURRENT and CANDIDATE.
type Decision struct {
	Time       time.Time   `json:"time,omitzero"` // by Redis' clock
	Action     string      `json:"action"`
	Version    string      `json:"version"`
	Before     string      `json:"before,omitempty"` // CURRENT until then
	By         string      `json:"by"`
	Reason     string      `json:"reason,omitempty"`
	Comparison *Comparison `json:"comparison,omitempty"` // as it was decided
}

// Text is the decision as it is stored. Its time is in the name of its field.
func (d Decision) Text() string {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // it is made of texts and numbers, none of which can be infinite
	}
	return string(text)
}
