// Package launchers hands launchers the addresses of their nodes, and keeps what their agents answer and report.
package launchers
