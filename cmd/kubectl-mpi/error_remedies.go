package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
)

// hintTimeout bounds the requests that complete a command line or find the remedy of an error.
const hintTimeout = 3 * time.Second

// forbiddenHint says who can give a right.
func (k *kube) forbiddenHint(ctx context.Context, e *apierror.ExplainedError) string {
	role := roleManifest(e.Verb, e.Resource)
	if role == "" {
		return "no role of a tenant gives this right: ask an admin of the cluster"
	}
	tenant := fetch.Tenant{}
	if c, err := k.Client(); err == nil && e.Namespace != "" {
		ctx, cancel := context.WithTimeout(ctx, hintTimeout)
		defer cancel()
		tenant = fetch.TenantOf(ctx, c, e.Namespace)
	}
	switch {
	case tenant.Name == "":
		return fmt.Sprintf("ask whoever gives rights there; in a namespace of a tenant, `people.%s` of the tenant's spec give this one", role)
	case role == "shell":
		return fmt.Sprintf("only admins of tenant `%s` and the groups of its `people.shell` may do this: ask its admins", tenant.Name)
	case role == "secrets":
		return fmt.Sprintf("only `people.secrets` of tenant `%s` may do this: ask its admins", tenant.Name)
	case len(tenant.Admins) == 0:
		return fmt.Sprintf("only %s of tenant `%s` may do this: ask its admins", role, tenant.Name)
	}
	return fmt.Sprintf("only %s of tenant `%s` may do this: ask its admins (group `%s`)", role, tenant.Name, strings.Join(tenant.Admins, "`, `"))
}

// What people of a tenant may read and write (pkg/compile/lower, cluster_role.go). A test holds it against the roles that are compiled.
var (
	viewersRead = []string{
		"trainjobs", "trainingruntimes", "clustertrainingruntimes", "jobsets", "jobs", "pods", "pods/log", "events", "configmaps", "persistentvolumeclaims", "resourcequotas",
		"limitranges", "namespaces", "localqueues", "workloads", "keptjobs", "keptjobs/log",
	}
	editorsWrite = []string{"trainjobs", "keptjobs"}
	adminsWrite  = []string{"persistentvolumeclaims", "configmaps"}
)

// roleManifest returns which people of a tenant have a right, empty where none have.
func roleManifest(verb, resource string) string {
	reads := slices.Contains([]string{"get", "list", "watch"}, verb)
	switch {
	case verb == "create" && (resource == "pods/exec" || resource == "pods/portforward"):
		return "shell"
	case resource == "secrets" && slices.Contains([]string{"create", "update", "delete"}, verb):
		return "secrets"
	case verb == "delete" && resource == "pods":
		return "admins"
	case reads && slices.Contains(viewersRead, resource):
		return "viewers"
	case !reads && slices.Contains(editorsWrite, resource):
		return "editors"
	case !reads && slices.Contains(adminsWrite, resource):
		return "admins"
	}
	return ""
}

// notFoundHint says what there is instead of a TrainJob or runtime that there is not.
func (k *kube) notFoundHint(ctx context.Context, e *apierror.ExplainedError) string {
	names, namespace, err := k.listNames(ctx, e.Resource)
	switch near, found := diag.Nearest(e.Name, names); {
	case err != nil:
		return ""
	case found && !k.noGuess:
		return fmt.Sprintf("did you mean `%s`?", near)
	case len(names) == 0:
		return fmt.Sprintf("there are none in namespace `%s`: --namespace chooses another", namespace)
	}
	return fmt.Sprintf("in namespace `%s` there are %s", namespace, cli.JoinFirst(names))
}

// quotaRemedy says what to do about a refusal, where the user can.
func (k *kube) quotaRemedy(e *apierror.ExplainedError) string {
	namespace, err := k.Namespace()
	if err != nil || !strings.Contains(e.Message, "exceeded quota") || !strings.Contains(e.Message, "count/trainjobs") {
		return ""
	}
	return fmt.Sprintf("the quota counts jobs that are over too: %s lists them, and %s makes room", k.commandHint(namespace, "list --status complete,failed"), k.commandHint(namespace, "delete --finished"))
}

// capitalizeFirst begins a sentence.
func capitalizeFirst(text string) string {
	runes := []rune(text)
	runes[0] = unicode.ToUpper(runes[0])
	return string(runes)
}
