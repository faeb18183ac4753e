// Package pause waits.
package pause
