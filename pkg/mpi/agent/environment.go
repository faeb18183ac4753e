package agent

import (
	"slices"
	"strings"
)

// ofThePod are variables that differ between the pods of a job.
var ofThePod = []string{"HOSTNAME", "JOB_COMPLETION_INDEX"}

// commandEnvironment returns the environment of the user's command: that of the launcher's container, and the settings
// for rsh.
//
// Hydra gives its own environment to all ranks, over what they would have from the container of their node (MPICH 4.0;
// ORTE and PRRTE do not). Under Hydra, therefore, the variables that differ between pods are left out: the ranks on the
// nodes have the values of their own pods.
func commandEnvironment(container []string, s Settings) []string {
	environment := override(container, s.environment())
	if !usesHydra(container) {
		return environment
	}
	return slices.DeleteFunc(environment, func(variable string) bool {
		return slices.Contains(ofThePod, nameOf(variable))
	})
}

// usesHydra says whether the environment is that of Hydra's dialects: it names rsh as Hydra's remote shell.
func usesHydra(environment []string) bool {
	return slices.ContainsFunc(environment, func(variable string) bool {
		name := nameOf(variable)
		return name == "HYDRA_LAUNCHER_EXEC" || name == "I_MPI_HYDRA_BOOTSTRAP_EXEC"
	})
}

// override returns an environment in which some variables are replaced. A name must not occur twice: libc takes the
// first value, other runtimes the last.
func override(environment, variables []string) []string {
	replaced := map[string]bool{}
	for _, variable := range variables {
		replaced[nameOf(variable)] = true
	}
	result := slices.Clone(variables)
	for _, variable := range environment {
		if !replaced[nameOf(variable)] {
			result = append(result, variable)
		}
	}
	return result
}

func nameOf(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return name
}
