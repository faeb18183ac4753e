package client

import (
	"testing"
	"time"
)

// LauncherAnswersWithin lets launchers take less time in a test.
func LauncherAnswersWithin(t *testing.T, limit time.Duration) {
	before := launcherAnswers
	launcherAnswers = limit
	t.Cleanup(func() { launcherAnswers = before })
}
