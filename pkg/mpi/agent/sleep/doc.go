// Package sleep waits for a time, or until a context ends.
package sleep
