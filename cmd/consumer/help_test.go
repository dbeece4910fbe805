package main

import (
	"testing"

	"rivulet/internal/cli/clitest"
)

// Each help has an example that a user can run as it is printed.
func TestHelpsHaveExamples(t *testing.T) { clitest.Examples(t, command) }

func TestCommandsOfPagesCanBeRun(t *testing.T) { clitest.Pages(t, command, "../..") }
