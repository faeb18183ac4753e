package process

import (
	"slices"
	"strings"
)

// SearchPath returns the PATH of an environment, that of a shell where it has none. An empty one is none: beside another folder it would
// be the current one.
func SearchPath(environment []string) string {
	for _, variable := range environment {
		if value, found := strings.CutPrefix(variable, "PATH="); found && value != "" {
			return value
		}
	}
	return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}

// OverrideVariables returns an environment in which some variables are replaced. A name must not occur twice: libc takes the
// first value, other runtimes the last.
func OverrideVariables(environment, variables []string) []string {
	replaced := map[string]bool{}
	for _, variable := range variables {
		replaced[VariableName(variable)] = true
	}
	result := slices.Clone(variables)
	for _, variable := range environment {
		if !replaced[VariableName(variable)] {
			result = append(result, variable)
		}
	}
	return result
}

// VariableName is the name of a variable in the form NAME=value.
func VariableName(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return name
}
