// Package verdict decides how a job ended: Evidence goes in, a verdict with its reason comes out. It is pure: it asks nobody, reads nothing,
// and knows neither who watched nor who asked.
//
// The decision comes first (cause, culprit, doubt), and its words last (text). The rules for two launchers whose exit codes cannot be
// believed are in hydra_*.go and prrte_lost_daemon.go, and go when those are mended.
package verdict
