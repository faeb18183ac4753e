// Package watch sees what goes on in the pods of a job: how ranks and launchers end (RankWatcher), what the processes of a pod have done (ProcessTracker),
// whether a job hangs, and what seems to be in its way. It judges nothing: what it sees is evidence. Programs are asked to end by a SignalForwarder only, and launchers are ended by watch/hydra.
//
// What is special about Hydra is in watch/hydra. What is special about PRRTE needs no watch: it is in verdict/prrte_lost_daemon.go.
package watch
