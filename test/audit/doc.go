// Package audit reads the audit log of an API server, and compares what somebody asked for with what their roles grant: nothing
// may have been refused, and no right may be there that nobody used.
package audit
