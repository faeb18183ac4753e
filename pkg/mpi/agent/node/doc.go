// Package node is the agent of a node: it answers the launcher, runs launch daemons and logs them (activityLog), says which pods it cannot
// reach, and reports what ran. It judges nothing, and does not know the launcher's side.
package node
