// Package versions has the commands of the trainer that act on the versions in Redis. They read artifacts and Redis,
// and neither data sets nor models:
//
//	publish.go    publish, verify
//	versions.go   versions, activate and prune; json.go: the list of versions as JSON
//	candidate.go  promote, abort, decide and history: what becomes of a version that was published as a candidate
package versions

import "github.com/spf13/cobra"

// Commands returns the commands.
func Commands() []*cobra.Command {
	return []*cobra.Command{publishCommand(), verifyCommand(), versionsCommand(), activateCommand(), promoteCommand(),
		abortCommand(), decideByRuleCommand(), historyCommand(), pruneCommand()}
}
