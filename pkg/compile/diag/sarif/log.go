package sarif

// The objects of SARIF, by their names in the specification, for those who write logs of something else than diagnostics, too.

type sarifLog struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []Run  `json:"runs"`
}

// Run is one run of the tool.
type Run struct {
	Tool       tool     `json:"tool"`
	ColumnKind string   `json:"columnKind"`
	Results    []Result `json:"results"`
}

type tool struct {
	Driver driver `json:"driver"`
}

type driver struct {
	Name           string `json:"name"`
	Version        string `json:"version,omitempty"`
	InformationURI string `json:"informationUri,omitempty"`
	Rules          []Rule `json:"rules,omitempty"`
}

// Rule is a rule that a Result refers to.
type Rule struct {
	ID            string        `json:"id"`
	Short         Text          `json:"shortDescription"`
	Full          Text          `json:"fullDescription"`
	HelpURI       string        `json:"helpUri,omitempty"`
	Help          Multiformat   `json:"help"`
	Configuration Configuration `json:"defaultConfiguration"`
}

// Configuration is how severe what a rule finds is, unless a Result says otherwise.
type Configuration struct {
	Level string `json:"level,omitempty"`
}

// Text is a text without marks.
type Text struct {
	Text string `json:"text"`
}

// Multiformat is a text in two forms.
type Multiformat struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown"`
}

// Result is one finding.
type Result struct {
	RuleID           string     `json:"ruleId"`
	RuleIndex        int        `json:"ruleIndex"`
	Level            string     `json:"level"`
	Message          Text       `json:"message"`
	Locations        []Location `json:"locations,omitempty"`
	RelatedLocations []Location `json:"relatedLocations,omitempty"`
	Fixes            []Fix      `json:"fixes,omitempty"`
	// Fingerprints tell a result by other means than its line, so that it is the same one after the next run.
	Fingerprints map[string]string `json:"partialFingerprints,omitempty"`
	// Suppressions are waivers.
	Suppressions []Suppression `json:"suppressions,omitempty"`
}

// Suppression is a waiver.
type Suppression struct {
	Kind          string `json:"kind"`
	Status        string `json:"status"`
	Justification string `json:"justification"`
}

// Location is a place, with what is to be said about it.
type Location struct {
	ID               int      `json:"id,omitempty"`
	PhysicalLocation Physical `json:"physicalLocation"`
	Message          *Text    `json:"message,omitempty"`
}

// Physical is a place in a file.
type Physical struct {
	Artifact Artifact `json:"artifactLocation"`
	Region   *Region  `json:"region,omitempty"`
}

// Artifact is a file.
type Artifact struct {
	URI string `json:"uri"`
}

// Region is a part of one line; EndColumn is exclusive.
type Region struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
	EndColumn   int `json:"endColumn"`
}

// Fix is an edit that mends a Result.
type Fix struct {
	Description Text     `json:"description"`
	Changes     []Change `json:"artifactChanges"`
}

// Change is the part of a Fix in one file.
type Change struct {
	Artifact     Artifact      `json:"artifactLocation"`
	Replacements []Replacement `json:"replacements"`
}

// Replacement is one edit.
type Replacement struct {
	Deleted  Region `json:"deletedRegion"`
	Inserted Text   `json:"insertedContent"`
}
