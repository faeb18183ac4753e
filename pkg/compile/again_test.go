package compile_test

import (
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
)

// specsOf copies the specs of this repository into memory, without components: charts have tests of their own and take long.
func specsOf(t *testing.T) fstest.MapFS {
	t.Helper()
	component := regexp.MustCompile(`(?m)^  components:\n(?:    .*\n)+`)
	files := fstest.MapFS{}
	for _, folder := range []string{"catalog", "tenants", "overlays"} {
		err := fs.WalkDir(repository, folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := fs.ReadFile(repository, name)
			files[name] = &fstest.MapFile{Data: component.ReplaceAll(data, nil)}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// outcome is what a compilation gives: files by path, and findings as people read them.
type outcome struct {
	Files    map[string]string
	Findings string
}

func everything(t *testing.T, files fs.FS) (outcome, *diag.List) {
	t.Helper()
	o := outcome{Files: map[string]string{}}
	list, err := compile.Stream(files, compile.Options{Workers: 4}, func(u compile.Unit) error {
		for _, file := range u.Files {
			o.Files[file.Path] = string(file.Data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Findings = text(t, list)
	return o, list
}

// tenantEdit changes the spec of a tenant.
type tenantEdit struct {
	pattern, replacement string
	// alone says that there is a tenant that can be compiled without the others. One with findings cannot.
	alone bool
}

var tenantEdits = map[string]tenantEdit{
	"DisplayName":     {`displayName: .*`, `displayName: Others`, true},
	"Jobs":            {`    jobs: .*`, `    jobs: 77`, true},
	"Pods":            {`    pods: .*`, `    pods: 777`, true},
	"CPU":             {`    cpu: .*`, `    cpu: 3333`, true},
	"Memory":          {`    memory: \d.*`, `    memory: 33Ti`, true},
	"Limits":          {`  quota:`, "  limits: {container: {default: {cpu: 300m}}}\n  quota:", true},
	"Retention":       {`finishedJobs: .*`, `finishedJobs: 100h`, true},
	"Comment":         {`  quota:`, "  # Why so much?\n\n  quota:", true},
	"Nothing":         {`  quota:`, `  quota:  `, true},
	"Accelerators":    {`    jobs: .*`, "$0\n    accelerators: {nvidia.com/gpu: 8}", false},
	"People":          {`editors: \[`, `editors: [more, `, false},
	"Namespace":       {`namespaces: \[`, `namespaces: [more, `, false},
	"Clusters":        {`  clusters: \[.*\]`, `  clusters: [local]`, false},
	"Nodes":           {`        nodes: \d+`, `        nodes: 1`, false},
	"Egress":          {`cidr: .*`, `cidr: 203.0.113.0/24`, false},
	"Name":            {`  name: (\w+)`, `  name: new-$1`, false},
	"Syntax":          {`  quota:`, `  quota: [`, false},
	"UnknownField":    {`  quota:`, "  qota: 1\n  quota:", false},
	"UnknownRuntime":  {`  runtimes: \[`, `  runtimes: [nobody, `, false},
	"QuotaTooSmall":   {`    memory: \d.*`, `    memory: 1Gi`, true},
	"Secret":          {`  quota:`, "  # password: AKIAIOSFODNN7EXAMPL2\n  quota:", false},
	"TwoDocuments":    {`\z`, "---\n" + second, false},
	"NoDocument":      {`(?s).*`, "# gone\n", false},
	"OtherKind":       {`(?s).*`, profile, false},
	"EgressMetadata":  {`cidr: .*`, `cidr: 169.254.0.0/16`, false},
	"PodSecurity":     {`  quota:`, "  podSecurity: baseline\n  quota:", false},
	"CohortOfOthers":  {`cohort: .*`, `cohort: nobody`, false},
	"ClaimSize":       {`      size: .*`, `      size: 9Ti`, false},
	"NamespaceOfPeer": {`namespaces: \[`, `namespaces: [team-vision, `, false},
}

const second = `apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: second}
spec: {people: {editors: [eds]}, namespaces: [second], clusters: [local], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}}
`

const profile = `apiVersion: lockstep.dev/v1alpha1
kind: HardwareProfile
metadata: {name: extra}
spec: {node: {cpu: 4, memory: 8Gi}, fabric: {kind: Ethernet}}
`

// TestOwnFields tenantEdits the specs of tenants and compiles them alone. Where that is possible, the units take the place of the old ones in
// a tree that is otherwise as it was, and the findings stay: exactly what compiling everything gives. So no rule that looks at
// several tenants may use a field that withoutOwn empties.
func TestOwnFields(t *testing.T) {
	files := specsOf(t)
	before, list := everything(t, files)
	if list.Errors() > 0 {
		t.Fatal(before.Findings)
	}
	last := compile.Last{Findings: list.Sorted(), Made: func(f emit.File) bool { return before.Files[f.Path] == string(f.Data) }}
	for name, e := range tenantEdits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			applied, alone := 0, 0
			for _, spec := range tenantsOf(files) {
				was := string(files[spec].Data)
				is := regexp.MustCompile(`(?m)`+e.pattern).ReplaceAllString(was, e.replacement)
				if is == was {
					continue
				}
				applied++
				if compareAlone(t, files, before, last, spec, is) {
					alone++
				}
			}
			if applied == 0 || alone > 0 != e.alone {
				t.Errorf("applied to %d tenants, of which %d were compiled alone", applied, alone)
			}
		})
	}
}

func tenantsOf(files fstest.MapFS) []string {
	specs := slices.Sorted(maps.Keys(files))
	return slices.DeleteFunc(specs, func(name string) bool { return path.Dir(name) != "tenants" })
}

// compareAlone says whether a tenant can be compiled alone, and then compares what comes of it.
func compareAlone(t *testing.T, files fstest.MapFS, before outcome, last compile.Last, spec, is string) bool {
	t.Helper()
	was := map[string]string{spec: string(files[spec].Data)}
	units, alone := compile.NewAgain(files, compile.Options{}).Tenants(was, map[string]string{spec: is}, last)
	if !alone {
		return false
	}
	got := outcome{Files: maps.Clone(before.Files), Findings: before.Findings}
	for _, u := range units {
		for _, file := range u.Files {
			got.Files[file.Path] = string(file.Data)
		}
	}
	changed := maps.Clone(files)
	changed[spec] = &fstest.MapFile{Data: []byte(is)}
	want, _ := everything(t, changed)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-everything +alone):\n%s", spec, diff)
	}
	return true
}

// TestAdmittedTenants: a runtime that admits some tenants knows those that are not compiled too.
func TestAdmittedTenants(t *testing.T) {
	files := manyFiles(t)
	runtime := files["catalog/rt3.yaml"]
	runtime.Data = []byte(strings.Replace(string(runtime.Data), "spec:", "spec:\n  tenants: [t1, t2]", 1))
	before, list := everything(t, files)
	last := compile.Last{Findings: list.Sorted(), Made: func(f emit.File) bool { return before.Files[f.Path] == string(f.Data) }}
	for _, spec := range []string{"tenants/t1.yaml", "tenants/t5.yaml"} {
		is := strings.Replace(string(files[spec].Data), "jobs: 20", "jobs: 21", 1)
		if !compareAlone(t, files, before, last, spec, is) {
			t.Errorf("%s cannot be compiled alone\n%s", spec, before.Findings)
		}
	}
}

// TestAgainDistrusts: where the tree is not what compiling the old tenant alone gives, everything is compiled.
func TestAgainDistrusts(t *testing.T) {
	files := manyFiles(t)
	spec := map[string]string{"tenants/t1.yaml": string(files["tenants/t1.yaml"].Data)}
	again := compile.NewAgain(files, compile.Options{})
	for name, made := range map[string]func(emit.File) bool{
		"Right": func(emit.File) bool { return true }, "Other": func(f emit.File) bool { return !strings.Contains(f.Path, "t1") },
	} {
		if _, alone := again.Tenants(spec, spec, compile.Last{Made: made}); alone != (name == "Right") {
			t.Errorf("%s: compiled alone: %t", name, alone)
		}
	}
}

// TestSameBytes: the bytes do not depend on the order in which folders are listed, nor on the language and time zone of the machine.
func TestSameBytes(t *testing.T) {
	files := specsOf(t)
	want, _ := everything(t, files)
	for _, environment := range []map[string]string{
		{"LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu"}, {"LANG": "C", "LC_ALL": "C", "TZ": "America/St_Johns"},
	} {
		for name, value := range environment {
			t.Setenv(name, value)
		}
		got, _ := everything(t, backwards{files})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", environment, diff)
		}
	}
}

// backwards lists folders from Z to A.
type backwards struct{ fs.FS }

func (b backwards) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(b.FS, name)
	slices.Reverse(entries)
	return entries, err
}

// TestRangesUnknownToAll: a cluster that does not say which addresses its pods have is found once, whoever may reach private ones, so that
// a tenant that changes is still the only one that is compiled.
func TestRangesUnknownToAll(t *testing.T) {
	files := manyFiles(t)
	for _, spec := range tenantsOf(files) {
		files[spec].Data = append(files[spec].Data, "  network: {egress: [{cidr: 10.20.0.0/16}]}\n"...)
	}
	before, list := everything(t, files)
	if list.Errors() > 0 || strings.Count(before.Findings, string(diag.RangesUnknown)) != 1 {
		t.Fatalf("want one finding of %s:\n%s", diag.RangesUnknown, before.Findings)
	}
	last := compile.Last{Findings: list.Sorted(), Made: func(f emit.File) bool { return before.Files[f.Path] == string(f.Data) }}
	for _, spec := range tenantsOf(files) {
		was := map[string]string{spec: string(files[spec].Data)}
		is := map[string]string{spec: strings.Replace(was[spec], "jobs: 20", "jobs: 21", 1)}
		units, alone := compile.NewAgain(files, compile.Options{}).Tenants(was, is, last)
		if !alone || len(units) != 1 {
			t.Errorf("%s: %d units, compiled alone: %t", spec, len(units), alone)
		}
	}
}
