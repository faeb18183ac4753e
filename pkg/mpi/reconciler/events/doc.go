// Package events reports on jobs in events of Kubernetes: changes of conditions, and what no condition repeats.
package events
