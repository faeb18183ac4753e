package sarif

// The objects of SARIF, by their names in the specification.

type log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []run  `json:"runs"`
}

type run struct {
	Tool       tool     `json:"tool"`
	ColumnKind string   `json:"columnKind"`
	Results    []result `json:"results"`
}

type tool struct {
	Driver driver `json:"driver"`
}

type driver struct {
	Name           string `json:"name"`
	Version        string `json:"version,omitempty"`
	InformationURI string `json:"informationUri"`
	Rules          []rule `json:"rules,omitempty"`
}

type rule struct {
	ID            string        `json:"id"`
	Short         text          `json:"shortDescription"`
	Full          text          `json:"fullDescription"`
	HelpURI       string        `json:"helpUri"`
	Help          multiformat   `json:"help"`
	Configuration configuration `json:"defaultConfiguration"`
}

type configuration struct {
	Level string `json:"level,omitempty"`
}

type text struct {
	Text string `json:"text"`
}

type multiformat struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown"`
}

type result struct {
	RuleID           string     `json:"ruleId"`
	RuleIndex        int        `json:"ruleIndex"`
	Level            string     `json:"level"`
	Message          text       `json:"message"`
	Locations        []location `json:"locations,omitempty"`
	RelatedLocations []location `json:"relatedLocations,omitempty"`
	Fixes            []fix      `json:"fixes,omitempty"`
	// Suppressions are waivers.
	Suppressions []suppression `json:"suppressions,omitempty"`
}

type suppression struct {
	Kind          string `json:"kind"`
	Status        string `json:"status"`
	Justification string `json:"justification"`
}

type location struct {
	ID               int      `json:"id,omitempty"`
	PhysicalLocation physical `json:"physicalLocation"`
	Message          *text    `json:"message,omitempty"`
}

type physical struct {
	Artifact artifact `json:"artifactLocation"`
	Region   *region  `json:"region,omitempty"`
}

type artifact struct {
	URI string `json:"uri"`
}

// region is a part of one line; EndColumn is exclusive.
type region struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
	EndColumn   int `json:"endColumn"`
}

type fix struct {
	Description text     `json:"description"`
	Changes     []change `json:"artifactChanges"`
}

type change struct {
	Artifact     artifact      `json:"artifactLocation"`
	Replacements []replacement `json:"replacements"`
}

type replacement struct {
	Deleted  region `json:"deletedRegion"`
	Inserted text   `json:"insertedContent"`
}
