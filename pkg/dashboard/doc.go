// Package dashboard serves the page on which people watch, understand and change jobs in a browser.
//
//	guard → routes → {list, job, logs, action} → pkg/jobs
//	                  ↑ feed: one watch for all streams of a user that show the same
//
// Every request to the API server has the credentials of the user who asks. The package has no account, and an
// answer names what its user may not read (withheld).
package dashboard
