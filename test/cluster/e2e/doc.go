// Package e2e holds the suite that starts real clusters on this machine. It
// runs as root with LOCKSTEP_CLUSTER_E2E=1, and skips otherwise. It needs the
// machine for itself: another cluster makes it fail before it changes
// anything.
package e2e
