package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// emptyAllowed are variables of pipelines that flags are given with, and when they are empty.
var emptyAllowed = map[string]string{
	"from": ": CI_MERGE_REQUEST_DIFF_BASE_SHA is empty in pipelines of GitLab that are not of a merge request, GITHUB_BASE_REF in those of GitHub that are not of a pull request",
	"to":   ": CI_MERGE_REQUEST_SOURCE_BRANCH_SHA is empty in many pipelines of GitLab, GITHUB_HEAD_REF in those of GitHub that are not of a pull request",
}

// rejectEmptyFlags refuses flags with an empty value, which would silently mean the default: a pipeline with a variable that is not set would compare
// something else, or have no gate.
func rejectEmptyFlags(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Value.Type() == "string" && f.Value.String() == "" {
			err = fmt.Errorf("--%s is empty: leave it out for its default, or give it a value. A variable of the pipeline that is not set is empty, too%s", f.Name, emptyAllowed[f.Name])
		}
	})
	return err
}
