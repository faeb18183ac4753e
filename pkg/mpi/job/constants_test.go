package job_test

import "time"

// When the controller asks again, and how long it takes things for normal.
const (
	podsAskedAfter   = 2 * time.Second
	podsAskedAgain   = 10 * time.Second
	mountsAskedAfter = 20 * time.Second
	causeKnownAfter  = 2 * time.Second
	causeLook        = 200 * time.Millisecond
	heldLook         = 5 * time.Second
	quotaLook        = time.Minute
	leftoversLook    = time.Second
	jobSetMayEnd     = time.Minute
	upToldAfter      = 2 * time.Second
	podsGoneAfter    = 30 * time.Second
)
