package main

import (
	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/bench/tool"
)

// Report is the result of a whole run.
type Report struct {
	Machine series.Machine `json:"machine"`
	Tools   []tool.Tool    `json:"tools"`
	// Opened is what was checked before measuring.
	Opened Opened   `json:"opened"`
	Series []Series `json:"series"`
}

// Opened is the report of a line that opens egress for all tenants, which was found to be critical and at that line.
type Opened struct {
	Tenants int `json:"tenants"`
	Entries int `json:"entries"`
	Lines   int `json:"lines"`
}

// The scenarios.
const (
	oneFolders   = "one tenant changed"
	oneRevisions = "one tenant changed, git revisions"
	opened       = "one line opens egress for all tenants"
	image        = "image of a runtime changed"
	noChange     = "no change"
)

// Series is runs of one command line on one workload, or of the command lines that others need for it.
type Series struct {
	Tool     string `json:"tool"`
	Scenario string `json:"scenario"`
	Tenants  int    `json:"tenants"`
	Clusters int    `json:"clusters"`
	// Objects are those of one side.
	Objects int `json:"objects"`
	// Lines is how many lines somebody gets to read.
	Lines int `json:"lines"`
	series.Usage
}

// find returns the series of a tool and scenario with the most tenants, or nil.
func (r *Report) find(name, scenario string) *Series {
	var found *Series
	for i := range r.Series {
		s := &r.Series[i]
		if s.Tool == name && s.Scenario == scenario && (found == nil || s.Tenants > found.Tenants) {
			found = s
		}
	}
	return found
}
