package sleep

import (
	"context"
	"time"
)

// For waits, and reports whether the time passed before the context ended.
func For(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
