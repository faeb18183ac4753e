package submit

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Commands are the ways to make the same job elsewhere.
type Commands struct {
	// Submit is a line for a shell, Python a program.
	Submit string `json:"submit"`
	Python string `json:"python"`
	// SubmitLacks and PythonLacks name fields of the job that the line, or the program, leaves out.
	SubmitLacks []string `json:"submitLacks,omitempty"`
	PythonLacks []string `json:"pythonLacks,omitempty"`
}

// CommandsOf writes the commands that make the job of OptionsOf, with the fields that its options lack.
func CommandsOf(o Options, lacks []string) Commands {
	words := make([]string, 0, 16)
	for _, word := range append([]string{"kubectl", "mpi", "submit"}, o.Arguments()...) {
		words = append(words, quoteWord(word))
	}
	c := Commands{
		Submit: strings.Join(words, " "), Python: o.python(), SubmitLacks: lacks, PythonLacks: slices.Clone(lacks),
	}
	if o.Suspend {
		c.PythonLacks = append(c.PythonLacks, "spec.suspend")
	}
	if slices.ContainsFunc(o.Claims, func(claim VolumeClaim) bool { return claim.ReadOnly }) {
		c.PythonLacks = append(c.PythonLacks, "readOnly of claims")
	}
	return c
}

// Arguments returns the arguments of `kubectl mpi submit`. The folder of files is the current one.
func (o Options) Arguments() []string {
	words := []string{o.Name}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, "--"+flag, value)
		}
	}
	add("namespace", o.Namespace)
	add("runtime", o.Runtime.Name)
	for _, count := range []struct {
		flag string
		n    int32
	}{{"nodes", o.Nodes}, {"slots", o.Slots}} {
		if count.n > 0 {
			add(count.flag, strconv.Itoa(int(count.n)))
		}
	}
	add("image", o.Image)
	add("queue", o.Queue)
	add("resources", strings.Join(amounts(o.Resources), ","))
	for _, v := range o.Env {
		add("env", v.Name+"="+v.Value)
	}
	for _, c := range o.Claims {
		mode := ""
		if c.ReadOnly {
			mode = ":ro"
		}
		add("pvc", c.Name+":"+c.Path+mode)
	}
	if len(o.Files) > 0 {
		add("files", ".")
	}
	add("trace", o.Trace)
	add("artifacts", o.Artifacts)
	if o.Suspend {
		words = append(words, "--suspend")
	}
	if len(o.Command) > 0 {
		words = append(append(words, "--"), o.Command...)
	}
	return words
}

func amounts(resources corev1.ResourceList) []string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		amount := resources[name]
		texts = append(texts, string(name)+"="+amount.String())
	}
	return texts
}

var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// quoteWord quotes a word for a POSIX shell.
func quoteWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// python writes the program. Literals of Go's strconv.Quote mean the same in Python.
func (o Options) python() string {
	var trainer, call []string
	add := func(to *[]string, name, text string) { *to = append(*to, name+"="+text) }
	for _, count := range []struct {
		name string
		n    int32
	}{{"nodes", o.Nodes}, {"slots", o.Slots}} {
		if count.n > 0 {
			add(&trainer, count.name, strconv.Itoa(int(count.n)))
		}
	}
	if len(o.Command) > 0 {
		words := make([]string, len(o.Command))
		for i, word := range o.Command {
			words[i] = strconv.Quote(word)
		}
		add(&trainer, "command", "["+strings.Join(words, ", ")+"]")
	}
	if o.Image != "" {
		add(&trainer, "image", strconv.Quote(o.Image))
	}
	var variables, resources, volumes [][2]string
	for _, v := range o.Env {
		variables = append(variables, [2]string{v.Name, v.Value})
	}
	for _, text := range amounts(o.Resources) {
		name, amount, _ := strings.Cut(text, "=")
		resources = append(resources, [2]string{name, amount})
	}
	for _, c := range o.Claims {
		volumes = append(volumes, [2]string{c.Path, c.Name})
	}
	for _, dict := range []struct {
		name  string
		pairs [][2]string
	}{{"env", variables}, {"resources", resources}, {"volumes", volumes}} {
		if len(dict.pairs) > 0 {
			add(&trainer, dict.name, pythonDict(dict.pairs))
		}
	}
	if len(o.Files) > 0 {
		add(&trainer, "files", `"."`)
	}
	add(&call, "name", strconv.Quote(o.Name))
	if o.Queue != "" {
		add(&call, "queue", strconv.Quote(o.Queue))
	}
	imports, annotations := "", [][2]string(nil)
	if o.Trace != "" {
		annotations = append(annotations, [2]string{mpi.TraceAnnotation, o.Trace})
	}
	if text, err := artifactsYAML(o.Artifacts); err == nil && o.Artifacts != "" {
		annotations = append(annotations, [2]string{mpi.ArtifactsAnnotation, text})
	}
	if len(annotations) > 0 {
		imports = "from kubeflow.trainer.options import Annotations\n"
		add(&call, "options", fmt.Sprintf("[Annotations(%s)]", pythonDict(annotations)))
	}
	return fmt.Sprintf("%sfrom lockstep import MPIClient, MPITrainer\n\nclient = MPIClient(namespace=%q)\nclient.train(\n"+
		"    %q,\n    trainer=MPITrainer(\n        %s,\n    ),\n    %s,\n)\n", imports, o.Namespace, o.Runtime.Name,
		strings.Join(trainer, ",\n        "), strings.Join(call, ",\n    "))
}

func pythonDict(pairs [][2]string) string {
	texts := make([]string, len(pairs))
	for i, pair := range pairs {
		texts[i] = strconv.Quote(pair[0]) + ": " + strconv.Quote(pair[1])
	}
	return "{" + strings.Join(texts, ", ") + "}"
}
