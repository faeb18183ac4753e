package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jsonschema"
	"lockstep.dev/lockstep/pkg/compile/scaffold"
	"lockstep.dev/lockstep/pkg/compile/source"
)

func newNew() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Write the first version of a spec",
		Long: `new writes a spec where it belongs: what the flags say, what follows from the repository, and every other key as a comment that
explains it. The spec compiles, or nothing is written. The first line tells editors where the JSON Schema of the spec is: in
docs/schemas, if the repository has it, else in .lockstep/schemas, which new fills.`,
		Example: `  # A repository from nothing: a machine, a cluster of two, a runtime, a team
  runtime-compiler new profile cpu --cpu 2 --memory 4Gi
  runtime-compiler new cluster local --platform Kubernetes --version 1.36 --agent-image example.org/mpi-agent:1 --capacity cpu=2
  runtime-compiler new runtime openmpi --profile cpu --implementation OpenMPI --version 5.0.7 --image example.org/openmpi:5
  runtime-compiler new tenant vision --clusters local --editors vision-editors`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("say what to make: `%s`", strings.Join(kindWords(), "`, `"))
			}
			if near, found := diag.Nearest(args[0], kindWords()); found {
				return fmt.Errorf("cannot make `%s`: did you mean `%s`?", args[0], near)
			}
			return fmt.Errorf("cannot make `%s`: allowed are `%s`", args[0], strings.Join(kindWords(), "`, `"))
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	for _, kind := range jsonschema.Kinds {
		cmd.AddCommand(newKind(kind))
	}
	return cmd
}

// newExamples are the command lines that a person may copy, by kind.
var newExamples = map[string]string{
	"profile": `  runtime-compiler new profile cpu --cpu 16 --memory 60Gi
  runtime-compiler new profile h100-ib --cpu 180 --memory 1900Gi --accelerator nvidia.com/gpu --accelerators 8 \
    --product NVIDIA-H100-80GB-HBM3 --fabric InfiniBand --fabric-resource rdma/hca_shared`,
	"runtime": `  runtime-compiler new runtime openmpi --profile cpu --implementation OpenMPI --version 5.0.7 --image example.org/openmpi:5`,
	"tenant": `  runtime-compiler new tenant vision --clusters local --editors vision-editors
  runtime-compiler new tenant nlp --clusters east,west --editors nlp --accelerators nvidia.com/gpu=16 --dry-run`,
	"cluster": `  runtime-compiler new cluster local --platform Kubernetes --version 1.36 --agent-image example.org/mpi-agent:1 --capacity cpu=2`,
}

// newOptions is one `new` command.
type newOptions struct {
	kind    jsonschema.Kind
	root    string
	schemas string
	dryRun  bool
	// flags hold what was written, by name.
	flags map[string]*[]string
}

func newKind(kind jsonschema.Kind) *cobra.Command {
	r := &newOptions{kind: kind, flags: map[string]*[]string{}}
	cmd := &cobra.Command{
		Use:     kind.Word + " NAME",
		Short:   fmt.Sprintf("Write the %s to %s", kind.Name, scaffold.SpecPath(kind, "NAME")),
		Example: newExamples[kind.Word],
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("give the %s one name: `runtime-compiler new %s NAME`", kind.Word, kind.Word)
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions, // the name is new
		RunE:              func(cmd *cobra.Command, args []string) error { return r.run(cmd, args[0]) },
	}
	cmd.Flags().StringVar(&r.root, "root", ".", "folder with catalog/, tenants/ and overlays/")
	cmd.Flags().StringVar(&r.schemas, "schemas", "", "folder of the schemas below --root (default docs/schemas if it is there, else .lockstep/schemas)")
	cmd.Flags().BoolVar(&r.dryRun, "dry-run", false, "print the spec, write nothing")
	for _, input := range scaffold.Inputs(kind) {
		r.register(cmd, input)
	}
	cmd.Flags().SortFlags = false
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		for _, input := range scaffold.Inputs(kind) {
			cmd.Flags().Lookup(input.Flag).Usage = kindSummary(kind, input)
		}
		cmd.Parent().HelpFunc()(cmd, args)
	})
	return cmd
}

// kindSummary is the first sentence of what the schema says.
func kindSummary(kind jsonschema.Kind, input scaffold.Input) string {
	text, _, _ := strings.Cut(strings.ReplaceAll(input.Schema(kind).Description, "`", ""), ". ")
	text = strings.TrimSuffix(text, ".")
	if allowed := input.Schema(kind).Enum; len(allowed) > 0 {
		words := make([]string, len(allowed))
		for i, value := range allowed {
			words[i] = fmt.Sprint(value)
		}
		text += ": " + strings.Join(words, ", ")
	}
	if input.Required {
		text += " (required)"
	}
	return text
}

// register makes the flag of an input. What it means stands in the schema, which only help reads: it takes longer than a small build.
func (r *newOptions) register(cmd *cobra.Command, input scaffold.Input) {
	r.flags[input.Flag] = &[]string{}
	if input.Shape == scaffold.One {
		cmd.Flags().Var(oneValue{r.flags[input.Flag]}, input.Flag, "")
	} else {
		cmd.Flags().StringSliceVar(r.flags[input.Flag], input.Flag, nil, "")
	}
	complete := func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return r.flagCompletions(input, begun)
	}
	cli.CompleteFlagWith(cmd, input.Flag, complete)
}

// flagCompletions returns what may be written for a flag. Of a list, the items so far stay.
func (r *newOptions) flagCompletions(input scaffold.Input, begun string) ([]string, cobra.ShellCompDirective) {
	repository := compiling.Input{Root: r.root}
	root, err := repository.OpenRoot()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer root.Close()
	directive, before, after := cobra.ShellCompDirectiveNoFileComp, "", ""
	switch input.Shape {
	case scaffold.Many:
		before = begun[:strings.LastIndex(begun, ",")+1]
	case scaffold.Map:
		after = "="
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	var words []string
	for _, allowed := range input.Allowed(r.kind, scaffold.ReadExisting(root.FS(), repository.Options())) {
		words = append(words, before+allowed+after)
	}
	return words, directive
}

// oneValue is a flag with one value. Nothing about it is checked here: the compiler says what is wrong, and where.
type oneValue struct{ texts *[]string }

func (v oneValue) String() string { return "" }
func (v oneValue) Type() string   { return "value" }
func (v oneValue) Set(text string) error {
	*v.texts = []string{text}
	return nil
}

func (r *newOptions) run(cmd *cobra.Command, name string) error {
	repository := compiling.Input{Root: r.root}
	root, err := repository.OpenRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	known := scaffold.ReadExisting(root.FS(), repository.Options())
	if err := r.requireFlags(cmd, known); err != nil {
		return err
	}
	draft, err := scaffold.NewDraft(source.Whole(root.Root.FS()), r.kind, name, r.schemas, r.writtenFlags(cmd), known)
	if err != nil {
		return err
	}
	list := scaffold.FindingsWith(root.FS(), draft.Files(), repository.Options())
	if err := list.WriteText(cmd.ErrOrStderr(), cli.Palette(cmd.ErrOrStderr())); err != nil {
		return cli.Failure(fmt.Errorf("write diagnostics: %w", err))
	}
	switch {
	case r.dryRun:
		fmt.Fprintf(cmd.OutOrStdout(), "%s", draft.Spec.Data)
	case list.Errors() == 0:
		return r.write(cmd, root, draft)
	default:
		return cli.Failure(fmt.Errorf("`%s` would not compile and was not written: change the flags; --dry-run prints it", draft.Spec.Path))
	}
	if list.Errors() > 0 {
		return cli.ErrReported
	}
	return nil
}

func (r *newOptions) writtenFlags(cmd *cobra.Command) scaffold.Written {
	written := scaffold.Written{}
	for flag, texts := range r.flags {
		if cmd.Flags().Changed(flag) {
			written[flag] = *texts
		}
	}
	return written
}

// requireFlags asks for what cannot be guessed, all at once, with what is allowed.
func (r *newOptions) requireFlags(cmd *cobra.Command, known *scaffold.Existing) error {
	var missing []string
	for _, input := range scaffold.Inputs(r.kind) {
		if !input.IsMissing(r.writtenFlags(cmd)) || cmd.Flags().Changed(input.Flag) {
			continue
		}
		missing = append(missing, "  --"+input.Flag+": "+allowedValuesHint(input, r.kind, known))
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("a %s needs more than its name; these flags are missing:\n%s", r.kind.Word, strings.Join(missing, "\n"))
}

func allowedValuesHint(input scaffold.Input, kind jsonschema.Kind, known *scaffold.Existing) string {
	allowed := input.Allowed(kind, known)
	s := input.Schema(kind)
	if s.Items != nil {
		s = s.Items
	}
	switch {
	case len(allowed) > 0:
		return "allowed are `" + strings.Join(allowed, "`, `") + "`"
	case input.Names != "":
		return "there is no " + input.Names + " yet: make one first with `runtime-compiler new " + commandOfKind(input.Names) + " NAME`"
	case input.Example != "":
		return "for example " + input.Example
	case len(s.Examples) > 0:
		return fmt.Sprintf("for example `%v`", s.Examples[0])
	}
	return s.Description
}

// commandOfKind is how the command line calls a kind.
func commandOfKind(kind string) string {
	for _, k := range jsonschema.Kinds {
		if k.Name == kind {
			return k.Word
		}
	}
	return kind
}

// write writes new files only, the spec last: it is the one that counts. A chart is one thing to its reader.
func (r *newOptions) write(cmd *cobra.Command, root *compiling.Root, draft *scaffold.Draft) error {
	write := func(files []scaffold.File, tell bool) error {
		for _, file := range files {
			if err := writeNewFile(root, file); err != nil {
				return cli.Failure(fmt.Errorf("write `%s`: %w", file.Path, source.Reason(err)))
			}
			if tell {
				fmt.Fprintln(cmd.OutOrStdout(), "wrote", file.Path)
			}
		}
		return nil
	}
	if err := errors.Join(write(draft.Schemas, true), write(draft.Chart, false)); err != nil {
		return err
	}
	if len(draft.Chart) > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "wrote %s, the chart of the controller (%d files)\n", scaffold.ChartPath, len(draft.Chart))
	}
	return write([]scaffold.File{draft.Spec}, true)
}

func writeNewFile(root *compiling.Root, f scaffold.File) error {
	if err := root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(f.Data)
	return errors.Join(err, file.Close())
}
