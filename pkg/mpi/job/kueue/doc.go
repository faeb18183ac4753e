// Package kueue reads what Kueue says of a job: why it was evicted, where it stands in its queue, how long that may take. It knows Kueue's
// objects by their fields and does not import Kueue.
package kueue
