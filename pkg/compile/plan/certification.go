package plan

import (
	"fmt"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Certification is a test of a runtime on the cluster.
type Certification struct {
	Runtime, Fingerprint, Date Value[string]
	// Measured is the rest of what the spec says.
	Measured v1alpha1.Certification
	// Stale says that the pods of the runtime have become others. It is found out when the plan is complete, from objects.
	Stale bool
}

func certifications(d *decode.Document, list []v1alpha1.Certification) []Certification {
	var result []Certification
	for i := range list {
		own := &list[i]
		result = append(result, Certification{
			Runtime: writtenValue(d, &own.Runtime), Fingerprint: writtenValue(d, &own.Fingerprint), Date: writtenValue(d, &own.Date), Measured: *own,
		})
	}
	return result
}

// CertificationOf returns the certification of a runtime, or nil.
func (c *Cluster) CertificationOf(runtime string) *Certification {
	for i := range c.Certified {
		if c.Certified[i].Runtime.V == runtime {
			return &c.Certified[i]
		}
	}
	return nil
}

// State is the day of the test, or that it holds no more.
func (t *Certification) State() string {
	if t.Stale {
		return mpi.CertifiedStale
	}
	return t.Date.V
}

// Text says what was tested, when and by whom.
func (t *Certification) Text() string {
	m := &t.Measured
	text := fmt.Sprintf("%s by %s: %d ranks on %d nodes, %d pairs between nodes, round trip %d µs, bandwidth %d Mbit/s, slowest %d Mbit/s, image %s",
		m.Date, m.By, m.Ranks, m.Nodes, m.Pairs, m.RoundTripMicroseconds, m.BandwidthMbps, m.SlowestMbps, m.Image)
	if t.Stale {
		text += "; the runtime has changed since"
	}
	return text
}
