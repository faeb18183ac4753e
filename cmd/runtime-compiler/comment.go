package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/semdiff/render"
	"lockstep.dev/lockstep/pkg/forge"
)

// commentOptions is the command line of comment.
type commentOptions struct {
	forge, url, repository string
	number                 int
}

func newComment() *cobra.Command {
	var c commentOptions
	cmd := &cobra.Command{
		Use:   "comment FILE",
		Short: "Write a report of diff to a pull request, in one comment",
		Long: `comment writes a Markdown report of diff to a pull request of GitHub or a merge request of GitLab. There is one comment, which every
run updates: the one that begins as reports do and was written by the owner of this token. "-" reads the report from the standard input.

In the pipelines of both forges nothing else is needed. The token is in the environment, and nowhere else: GITHUB_TOKEN, or GITLAB_TOKEN
(an access token with the scope api; the job's own token of GitLab may not comment).

Exit codes: 0 fine, 1 a failure, 2 a mistake on the command line, 4 the token may not comment. The last is so for pull requests from forks
of GitHub, whose token may only read: a pipeline can go on, and keep the report as a file.`,
		Example: `  runtime-compiler diff --format markdown > review.md
  runtime-compiler comment review.md

  # In other pipelines
  runtime-compiler comment review.md --forge github --repository acme/platform --number 12
  runtime-compiler comment review.md --forge gitlab --api https://gitlab.example.com/api/v4 --repository acme/platform --number 12`,
		Args:    cli.ArgsBetween(1, 1),
		PreRunE: rejectEmptyFlags,
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.forge, "forge", "", "github or gitlab; known in their pipelines")
	flags.StringVar(&c.url, "api", "", "address of the forge's API; known in their pipelines, otherwise https://api.github.com or https://gitlab.com/api/v4")
	flags.StringVar(&c.repository, "repository", "", "owner/name; known in their pipelines")
	flags.IntVar(&c.number, "number", 0, "number of the pull request; known in their pipelines")
	cli.CompleteFlag(cmd, "forge", string(forge.GitHub), string(forge.GitLab))
	return cmd
}

func (c *commentOptions) run(cmd *cobra.Command, name string) error {
	client, err := c.forgeClient(os.Getenv)
	if err != nil {
		return err
	}
	report, err := readReport(cmd, name)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client.Waiting = func(reason error, d time.Duration) {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %v; it is asked again in %s\n", reason, d)
	}
	posted, err := client.Comment(ctx, render.Marker, report)
	if errors.Is(err, forge.ErrForbidden) {
		err = fmt.Errorf("%w. A pipeline of a pull request from a fork has such a token: keep the report as a file there, or comment from a workflow that runs afterwards", err)
		return cli.ExitError{Code: cli.ExitMayNot, Err: err}
	}
	if err != nil {
		return cli.Failure(fmt.Errorf("comment on %s #%d: %w", client.Target.Repository, client.Target.Number, err))
	}
	fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(fmt.Sprintf("%s #%d: comment %s %s", client.Target.Repository, client.Target.Number, posted.Action, posted.URL)))
	return nil
}

// maxReport is more than any forge takes.
const maxReport = 4 << 20

func readReport(cmd *cobra.Command, name string) (string, error) {
	in := cmd.InOrStdin()
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return "", fmt.Errorf("open the report: %w", err)
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxReport))
	if err != nil {
		return "", cli.Failure(fmt.Errorf("read the report: %w", err))
	}
	if !strings.HasPrefix(string(data), render.Marker) {
		return "", fmt.Errorf("`%s` is not a report: `runtime-compiler diff --format markdown` writes them", name)
	}
	return string(data), nil
}

// forgeClient is made of the flags, and of what the pipeline of a forge says.
func (c *commentOptions) forgeClient(getenv func(string) string) (*forge.Client, error) {
	kind := forge.Kind(c.forge)
	if kind == "" {
		kind = pipelineForge(getenv)
	}
	var known forge.Client
	switch kind {
	case forge.GitHub:
		known = forge.Client{Token: getenv("GITHUB_TOKEN"), Target: forge.Target{
			API: cmp.Or(getenv("GITHUB_API_URL"), "https://api.github.com"), Repository: getenv("GITHUB_REPOSITORY"), Number: pullRequestNumber(getenv)}}
	case forge.GitLab:
		known = forge.Client{Token: getenv("GITLAB_TOKEN"), Target: forge.Target{
			API: cmp.Or(getenv("CI_API_V4_URL"), "https://gitlab.com/api/v4"), Repository: getenv("CI_PROJECT_PATH"), Number: numberOrZero(getenv("CI_MERGE_REQUEST_IID"))}}
	case "":
		return nil, errors.New("this is not a pipeline of GitHub or GitLab: --forge, --repository and --number say where the comment belongs")
	default:
		return nil, fmt.Errorf("unknown forge `%s`: allowed are github, gitlab", kind)
	}
	t := &known.Target
	t.Kind, t.API, t.Repository, t.Number = kind, cmp.Or(c.url, t.API), cmp.Or(c.repository, t.Repository), cmp.Or(c.number, t.Number)
	return &known, missingFlags(&known)
}

// missingFlags says what is not known yet.
func missingFlags(c *forge.Client) error {
	variable := map[forge.Kind]string{forge.GitHub: "GITHUB_TOKEN", forge.GitLab: "GITLAB_TOKEN"}[c.Target.Kind]
	switch {
	case c.Token == "":
		return fmt.Errorf("%s is not set: the token belongs into the environment", variable)
	case c.Target.Repository == "":
		return errors.New("the repository is not known: --repository owner/name")
	case c.Target.Number < 1:
		return errors.New("this is not a pipeline of a pull request: --number says which one")
	}
	return c.Check()
}

// pipelineForge is the forge whose pipeline this is, "" for none.
func pipelineForge(getenv func(string) string) forge.Kind {
	switch {
	case getenv("GITHUB_ACTIONS") != "":
		return forge.GitHub
	case getenv("GITLAB_CI") != "":
		return forge.GitLab
	}
	return ""
}

var pullRequestRef = regexp.MustCompile(`^refs/pull/(\d+)/`)

// pullRequestNumber is the number of the pull request that a workflow of GitHub runs for, 0 for none.
func pullRequestNumber(getenv func(string) string) int {
	if found := pullRequestRef.FindStringSubmatch(getenv("GITHUB_REF")); found != nil {
		return numberOrZero(found[1])
	}
	var event struct {
		Number      int `json:"number"`
		PullRequest struct {
			Number int `json:"number"`
		} `json:"pull_request"`
	}
	data, err := os.ReadFile(getenv("GITHUB_EVENT_PATH"))
	if err != nil || json.Unmarshal(data, &event) != nil {
		return 0
	}
	return cmp.Or(event.PullRequest.Number, event.Number)
}

// numberOrZero is 0 for what is none.
func numberOrZero(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
