// Package validate says what is wrong with TrainJobs in a file, and where: text that is not YAML, fields that there are not, wrong types, and
// what the job's runtime does not take. What only the cluster knows, its policies, is asked there; PlaceMessage finds the line that they mean. It is
// pure: bytes and runtimes go in.
package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v4"
	"k8s.io/apimachinery/pkg/util/validation"
	kubejson "sigs.k8s.io/json"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// Finding is one mistake, or a warning of a job that runs and is hardly meant so.
type Finding struct {
	Warning bool   `json:"warning,omitempty"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	// Help is what to do, where that is known.
	Help string `json:"help,omitempty"`
}

// String is the finding as compilers write it.
func (f Finding) String() string {
	kind := "error"
	if f.Warning {
		kind = "warning"
	}
	text := fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Column, kind, f.Message)
	if f.Help != "" {
		text += "\n  help: " + f.Help
	}
	return text
}

// Document is a TrainJob of a file.
type Document struct {
	Job  *trainer.TrainJob
	file string
	root *yaml.Node
}

// Result is what a file holds and what is wrong with it.
type Result struct {
	Jobs     []Document
	Findings []Finding
}

// maxDocuments is how many a file may have: the command asks the cluster about each.
const maxDocuments = 1000

// File reads a file of TrainJobs.
func File(name string, data []byte) Result {
	var result Result
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for range maxDocuments {
		var document yaml.Node
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			if len(result.Jobs)+len(result.Findings) == 0 {
				result.Findings = append(result.Findings, Finding{File: name, Line: 1, Column: 1, Message: "the file has no TrainJob"})
			}
			return result
		case err != nil:
			result.Findings = append(result.Findings, syntaxError(name, err))
			return result
		}
		if len(document.Content) == 0 || document.Content[0].Tag == "!!null" {
			continue
		}
		d := Document{file: name, root: document.Content[0], Job: &trainer.TrainJob{}}
		if findings := d.decodeTrainJob(); len(findings) > 0 {
			result.Findings = append(result.Findings, findings...)
			continue
		}
		result.Jobs = append(result.Jobs, d)
	}
	result.Findings = append(result.Findings, Finding{File: name, Line: 1, Column: 1, Message: fmt.Sprintf("the file has more than %d documents", maxDocuments), Help: "split it"})
	return result
}

var lineOf = regexp.MustCompile(`line (\d+)`)

func syntaxError(name string, err error) Finding {
	f := Finding{File: name, Line: 1, Column: 1, Message: "this is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	if found := lineOf.FindStringSubmatch(err.Error()); found != nil {
		f.Line, _ = strconv.Atoi(found[1])
		f.Message = strings.Replace(f.Message, found[0]+": ", "", 1)
	}
	return f
}

// given is a value in a sentence.
func given(value any) string {
	if value == nil {
		return "missing"
	}
	return fmt.Sprintf("`%v`", value)
}

// decodeTrainJob reads the document as a TrainJob.
func (d *Document) decodeTrainJob() []Finding {
	var tree any
	if err := d.root.Decode(&tree); err != nil {
		return []Finding{syntaxError(d.file, err)}
	}
	content, is := tree.(map[string]any)
	if !is {
		return []Finding{d.findingAt("", "this is not an object, but a TrainJob is", "")}
	}
	if kind, version := content["kind"], content["apiVersion"]; kind != "TrainJob" || version != trainer.GroupVersion.String() {
		return []Finding{d.findingAt("kind", fmt.Sprintf("kind is %s and apiVersion is %s, a TrainJob has `TrainJob` and `%s`",
			given(kind), given(version), trainer.GroupVersion), "kubectl mpi makes TrainJobs only; `kubectl mpi convert` moves MPIJobs")}
	}
	text, err := json.Marshal(content)
	if err != nil {
		return []Finding{d.findingAt("", "a key is not a text: "+err.Error(), "")}
	}
	var findings []Finding
	strict, err := kubejson.UnmarshalStrict(text, d.Job)
	if err != nil {
		findings = append(findings, d.describeTypeError(err))
	}
	for _, wrong := range strict {
		findings = append(findings, d.describeUnknownField(wrong))
	}
	if len(findings) > 0 {
		return findings
	}
	return d.missingFields()
}

func (d *Document) describeTypeError(err error) Finding {
	text := err.Error()
	if found := typeError.FindStringSubmatch(text); found != nil {
		return d.findingAt(found[2], fmt.Sprintf("`%s` is a %s here, and must be %s", found[2], found[1], kindOfType(found[3])), "")
	}
	return d.findingAt("", strings.TrimPrefix(text, "json: "), "")
}

// typeError is how encoding/json says which field has a wrong type; sigs.k8s.io/json has a copy of its own that is not exported.
var typeError = regexp.MustCompile(`cannot unmarshal (\S+)(?: \S+)? into Go struct field \w+\.(\S+) of type (\S+)`)

// kindOfType says in words what a type of Go takes.
func kindOfType(name string) string {
	switch {
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "float"):
		return "a number"
	case strings.HasPrefix(name, "[]"):
		return "a list"
	case strings.HasPrefix(name, "map"):
		return "a mapping"
	case name == "bool":
		return "true or false"
	case name == "string":
		return "a text: put it in quotes"
	}
	return "an object"
}

// fieldError is how sigs.k8s.io/json says that a field is unknown. One that is there twice is not YAML already.
var fieldError = regexp.MustCompile(`^unknown field "(.*)"$`)

func (d *Document) describeUnknownField(err error) Finding {
	found := fieldError.FindStringSubmatch(err.Error())
	if found == nil {
		return d.findingAt("", err.Error(), "")
	}
	path := found[1]
	parent, name := "", path
	if i := strings.LastIndex(path, "."); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	allowed := fieldNames(reflect.TypeFor[trainer.TrainJob](), parent)
	f := d.findingAt(path, fmt.Sprintf("`%s` has no field `%s`", strings.TrimPrefix("TrainJob."+parent, "."), name), "")
	switch near, found := diag.Nearest(name, allowed); {
	case found:
		f.Help = fmt.Sprintf("did you mean `%s`?", near)
	case len(allowed) > 0:
		f.Help = "allowed are " + strings.Join(allowed, ", ")
	}
	return f
}

// missingFields says which fields there must be.
func (d *Document) missingFields() []Finding {
	var findings []Finding
	switch name := d.Job.Name; {
	case name == "" && d.Job.GenerateName == "":
		findings = append(findings, d.findingAt("metadata", "the job has no name", "add metadata.name"))
	case name != "":
		if err := CheckName(name); err != nil {
			findings = append(findings, d.findingAt("metadata.name", err.Error(), ""))
		}
	}
	if d.Job.Spec.RuntimeRef.Name == "" {
		findings = append(findings, d.findingAt("spec", "the job names no runtime", "add spec.runtimeRef.name; `kubectl mpi runtimes` shows which there are"))
	}
	return findings
}

// CheckName returns why a name cannot be that of a job, or nil.
func CheckName(name string) error {
	if len(validation.IsDNS1035Label(name)) == 0 {
		return nil
	}
	return fmt.Errorf("`%s` cannot be the name of a job: it has lower-case letters, digits and `-`, begins with a letter, does not end with `-`, and has at most %d characters (%d with a runtime that is not of MPI)",
		name, mpijob.MaxNameLength, validation.DNS1035LabelMaxLength)
}

// CheckAgainst says what the runtime of the job does not take, as the controller would, and whether it retires.
func (d Document) CheckAgainst(runtime mpijob.Runtime) []Finding {
	warnings := d.retiring(runtime)
	if !runtime.IsMPI() {
		return warnings
	}
	made, err := mpijob.Resolve(d.Job, runtime)
	if err != nil {
		return []Finding{d.PlaceMessage(err.Error())}
	}
	if made.TraceRefused != nil {
		return []Finding{d.findingAt("metadata.annotations", made.TraceRefused.Message, "")}
	}
	if err := HasCommand(d.Job, runtime); err != nil {
		return []Finding{d.findingAt("spec", err.Error(), "")}
	}
	warnings = append(warnings, d.unknownAnnotations()...)
	if gpus := made.GPUs(); gpus > 0 && int64(made.World.SlotsPerNode) > gpus {
		text := fmt.Sprintf("%d ranks on each node share %d GPUs", made.World.SlotsPerNode, gpus)
		warnings = append(warnings, d.warningAt("spec.trainer.numProcPerNode", text,
			"NCCL refuses ranks that share a GPU: ask for as many slots as GPUs"))
	}
	return warnings
}

// retiring warns of a deprecated runtime.
func (d Document) retiring(runtime mpijob.Runtime) []Finding {
	text := runtime.Deprecation().Warning(d.Job.Spec.RuntimeRef.Name)
	if text == "" {
		return nil
	}
	return []Finding{d.warningAt("spec.runtimeRef.name", text, "")}
}

// CanStart returns why no job of this name or with this command can start, or nil. The controller, which may be newer,
// finds other mistakes.
func CanStart(trainJob *trainer.TrainJob, runtime mpijob.Runtime) error {
	if !runtime.IsMPI() {
		return nil
	}
	if err := mpijob.CheckJobName(trainJob.Name); err != nil {
		return err
	}
	if err := mpijob.CheckArguments(trainJob); err != nil {
		return err
	}
	return HasCommand(trainJob, runtime)
}

// HasCommand returns why a job has nothing to run, or nil. It judges compiled runtimes: in others the image may bring a command.
func HasCommand(trainJob *trainer.TrainJob, runtime mpijob.Runtime) error {
	if asked := trainJob.Spec.Trainer; !runtime.IsCompiled() || asked != nil && len(asked.Command)+len(asked.Args) > 0 {
		return nil
	}
	launcher := mpijob.ReplicatedJob(runtime.Spec.Template.Spec, mpi.LauncherJob)
	if launcher == nil {
		return nil
	}
	main := mpijob.MainContainer(&launcher.Template.Spec.Template.Spec)
	if main == nil || len(main.Args) > 0 || len(main.Command) == 0 || main.Command[len(main.Command)-1] != "--" {
		return nil
	}
	return fmt.Errorf("the job has no command, and its runtime `%s` brings none: give one after `--`, such as `-- mpirun python train.py`, or in a file as spec.trainer.command", trainJob.Spec.RuntimeRef.Name)
}

// pathIn finds the field that a message is about: a path, or the name of a field.
var pathIn = regexp.MustCompile(`spec(?:\.\w+(?:\[\d+\])?)+|metadata\.\w+|\b(?:numNodes|numProcPerNode|resourcesPerNode|runtimePatches|initializer|runtimeRef)\b`)

// PlaceMessage returns a message about the job, such as one of an admission policy, as a finding at the line that it means.
func (d Document) PlaceMessage(message string) Finding {
	path := pathIn.FindString(message)
	switch path {
	case "numNodes", "numProcPerNode", "resourcesPerNode":
		path = "spec.trainer." + path
	case "runtimePatches", "initializer", "runtimeRef":
		path = "spec." + path
	case "":
		path = "metadata.name"
	}
	return d.findingAt(path, message, "")
}

// findingAt returns a finding at a field, or at the nearest thing around it that is there.
func (d Document) findingAt(path, message, help string) Finding {
	node := d.root
	for _, step := range pathSteps(path) {
		next := childNode(node, step)
		if next == nil {
			break
		}
		node = next
	}
	return Finding{File: d.file, Line: node.Line, Column: node.Column, Message: message, Help: help}
}

// warningAt is findingAt for what does not keep the job from being made.
func (d Document) warningAt(path, message, help string) Finding {
	found := d.findingAt(path, message, help)
	found.Warning = true
	return found
}

var stepIn = regexp.MustCompile(`[^.\[\]]+`)

func pathSteps(path string) []string { return stepIn.FindAllString(path, -1) }

// childNode returns a part of a node; of a mapping it is the value, unless that is a mapping or list itself: then the key says better where it is.
func childNode(node *yaml.Node, step string) *yaml.Node {
	if i, err := strconv.Atoi(step); err == nil && node.Kind == yaml.SequenceNode {
		if i < len(node.Content) {
			return node.Content[i]
		}
		return nil
	}
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == step {
			return node.Content[i+1]
		}
	}
	return nil
}

// fieldNames returns the fields of the object at a path of a type.
func fieldNames(t reflect.Type, path string) []string {
	for _, step := range pathSteps(path) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if _, err := strconv.Atoi(step); err == nil {
			continue
		}
		if t.Kind() != reflect.Struct {
			return nil
		}
		field, found := fieldOf(t, step)
		if !found {
			return nil
		}
		t = field
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for f := range jsonFields(t) {
		names = append(names, f)
	}
	return sortNames(names)
}
