package launchers

import "time"

// Progress of a job is asked for and written at most once in trainingEvery, and no closer than trainingGap. The first
// trainingFirst reports need not wait for trainingEvery, so that a short job shows that it works.
const (
	trainingEvery = 30 * time.Second
	trainingFirst = 3
	trainingGap   = 5 * time.Second
)

// trainingPace bounds how often progress is asked for. Its zero value has seen no report.
type trainingPace struct{ last, spent time.Time }

// delay returns how long the next question must wait.
func (p trainingPace) delay(now time.Time) time.Duration {
	next := p.last.Add(trainingGap)
	if saved := p.spent.Add(-(trainingFirst - 1) * trainingEvery); saved.After(next) {
		next = saved
	}
	return max(0, next.Sub(now))
}

// note takes in the time of a report.
func (p *trainingPace) note(now time.Time) {
	if p.last = now; p.spent.Before(now) {
		p.spent = now
	}
	p.spent = p.spent.Add(trainingEvery)
}
