package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/explain"
	"lockstep.dev/lockstep/pkg/compile/object"
)

func newExplain() *cobra.Command {
	var a queryOptions
	var namespace string
	cmd := &cobra.Command{
		Use:   "explain KIND/NAME [PATH]",
		Short: "Say where the values of a compiled object come from",
		Long: `explain prints, for each value of a compiled object: the line of the spec that it comes from, the default, the rule of the
compiler or the patch, and the values that lost against it. PATH narrows the answer to one value, or to all below it.

KIND is written as for kubectl: ResourceQuota, resourcequota, resourcequotas or quota. KIND alone means all objects of the kind.
PATH is keys with dots between them; items of lists go by their name or index, containers.node, containers[0] or
containers[name=node]; a key with dots is written ["requests.cpu"].`,
		Example: `  # Why does this quota have 8 CPUs?
  runtime-compiler explain resourcequota/lockstep-quota 'spec.hard["requests.cpu"]' --namespace team-vision

  # All about the environment of the ranks of a runtime
  runtime-compiler explain clustertrainingruntime/openmpi5-cpu \
    spec.template.spec.replicatedJobs.node.template.spec.template.spec.containers.node.env

  runtime-compiler explain namespaces -o json | jq -r '.[] | "\(.name) \(.path) \(.origin.file):\(.origin.line)"'`,
		Args: cli.ArgsBetween(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return explainOrigin(cmd, &a, namespace, args) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return completeObjects(&a, args)
		},
	}
	a.register(cmd)
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "objects of this namespace only")
	return cmd
}

func explainOrigin(cmd *cobra.Command, a *queryOptions, namespace string, args []string) error {
	query, err := queryOf(args)
	if err != nil {
		return err
	}
	query.Namespace = namespace
	var values []explain.Value
	var known, matching []object.ID
	var missing error
	err = a.compileUnits(cmd, func(cluster string, objects []object.Object) {
		values = append(values, explain.SelectedValues(cluster, objects, query)...)
		matching = append(matching, explain.SelectedObjects(objects, query)...)
		for i := range objects {
			known = append(known, objects[i].ID)
			if missing == nil && query.Selects(objects[i].ID) {
				missing = noValueError(&objects[i], query.Path)
			}
		}
	})
	switch {
	case err != nil:
		return err
	case len(matching) == 0:
		return cli.Failure(noObjectError(query, known))
	case len(values) == 0:
		return cli.Failure(missing)
	}
	return a.writeValues(cmd, values)
}

// queryOf reads KIND, or KIND/NAME, and a path.
func queryOf(args []string) (explain.Query, error) {
	kind, name, named := strings.Cut(args[0], "/")
	switch {
	case kind == "" || named && name == "":
		return explain.Query{}, fmt.Errorf("`%s` is not an object: write KIND/NAME, for example `resourcequota/lockstep-quota`, or KIND for all of a kind, for example `namespaces`", args[0])
	case strings.Contains(name, "/"):
		return explain.Query{}, fmt.Errorf("`%s` is not an object: write KIND/NAME, and the namespace with `--namespace`", args[0])
	}
	query := explain.Query{Kind: kind, Name: name}
	if len(args) == 1 {
		return query, nil
	}
	var err error
	query.Path, err = explain.ParsePath(args[1])
	if err == nil && len(query.Path) == 0 {
		err = errors.New("the path is empty: write keys with dots between them, for example `spec.hard.pods`, or leave it out to see all values")
	}
	return query, err
}

// noObjectError says what there is instead.
func noObjectError(q explain.Query, known []object.ID) error {
	var kinds, names []string
	for _, id := range known {
		kinds = append(kinds, id.Kind)
		if (explain.Query{Kind: q.Kind}).Selects(id) {
			names = append(names, id.Name)
		}
	}
	if len(names) == 0 {
		return errors.New("no object has the kind `" + q.Kind + "`: " + nearestWordHint(q.Kind, kinds))
	}
	if q.Namespace != "" && slices.Contains(names, q.Name) {
		return fmt.Errorf("there is no %s `%s` in the namespace `%s`", q.Kind, q.Name, q.Namespace)
	}
	return fmt.Errorf("there is no %s `%s`: %s", q.Kind, q.Name, nearestWordHint(q.Name, names))
}

// noValueError says how far a path leads in an object, and what is there; nil where it leads to a value.
func noValueError(o *object.Object, path explain.Path) error {
	reached, below, ok := path.ResolveIn(&o.Root)
	switch {
	case ok:
		return nil
	case len(reached) == 0:
		return fmt.Errorf("%s has nothing at `%s`: leave the path out to see all values", o.ID, path)
	case len(below) == 0:
		return fmt.Errorf("%s has nothing at `%s`: there is nothing below `%s`", o.ID, path, reached)
	}
	return fmt.Errorf("%s has nothing at `%s`: below `%s` %s", o.ID, path, reached, nearestWordHint(path[len(reached)], below))
}

// nearestWordHint names the nearest word, or the words that there are.
func nearestWordHint(got string, words []string) string {
	slices.Sort(words)
	words = slices.Compact(words)
	if near, ok := diag.Nearest(got, words); ok {
		return "did you mean `" + near + "`?"
	}
	if len(words) > 20 {
		words = append(words[:20:20], "…")
	}
	return "there are `" + strings.Join(words, "`, `") + "`"
}

// completeObjects offers KIND/NAME of everything that is compiled.
func completeObjects(a *queryOptions, args []string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	a.format = cli.FormatText
	var words []string
	quiet := &cobra.Command{SilenceErrors: true}
	quiet.SetErr(io.Discard)
	_ = a.compileUnits(quiet, func(_ string, objects []object.Object) {
		for i := range objects {
			words = append(words, strings.ToLower(objects[i].ID.Kind)+"/"+objects[i].ID.Name)
		}
	})
	slices.Sort(words)
	return slices.Compact(words), cobra.ShellCompDirectiveNoFileComp
}
