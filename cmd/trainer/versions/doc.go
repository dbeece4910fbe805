// Package versions has the commands of the trainer that act on the versions in Redis. They read artifacts and Redis,
// and neither data sets nor models.
package versions

import "github.com/spf13/cobra"

// Commands returns the commands.
func Commands() []*cobra.Command {
	return []*cobra.Command{publishCommand(), versionsCommand(), activateCommand(), pruneCommand()}
}
