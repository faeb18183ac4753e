package conformance

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	upstream "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"

	ours "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

// Our types have each field of Kubeflow Trainer's, under the same name in Go and in JSON, and no other: nothing of an
// object is dropped between reading and writing.
func TestTypesAreUpstreams(t *testing.T) {
	for _, pair := range [][2]any{
		{upstream.TrainJobList{}, ours.TrainJobList{}},
		{upstream.TrainingRuntimeList{}, ours.TrainingRuntimeList{}},
		{upstream.ClusterTrainingRuntimeList{}, ours.ClusterTrainingRuntimeList{}},
		{upstream.UpdateTrainJobStatusRequest{}, ours.UpdateTrainJobStatusRequest{}},
	} {
		root := reflect.TypeOf(pair[0])
		sameType(t, root.Name(), root, reflect.TypeOf(pair[1]))
	}
	if upstream.GroupVersion != ours.GroupVersion {
		t.Errorf("want the group %v, got %v", upstream.GroupVersion, ours.GroupVersion)
	}
}

func sameType(t *testing.T, path string, want, got reflect.Type) {
	t.Helper()
	if want == got {
		return // a type of Kubernetes or JobSet
	}
	if want.Kind() != got.Kind() || want.PkgPath() != "" && got.PkgPath() != "" && want.Name() != got.Name() {
		t.Errorf("%s: Kubeflow Trainer has %v, we have %v", path, want, got)
		return
	}
	switch want.Kind() {
	case reflect.Pointer, reflect.Slice:
		sameType(t, path, want.Elem(), got.Elem())
	case reflect.Struct:
		if diff := cmp.Diff(fieldsOf(want), fieldsOf(got)); diff != "" {
			t.Errorf("%s: -Kubeflow Trainer, +ours:\n%s", path, diff)
			return
		}
		for i := range want.NumField() {
			sameType(t, path+"."+want.Field(i).Name, want.Field(i).Type, got.Field(i).Type)
		}
	case reflect.String:
	default:
		t.Errorf("%s: %v and %v are not compared", path, want, got)
	}
}

// fieldsOf returns the fields of a struct in their order, which is that of their JSON.
func fieldsOf(structure reflect.Type) []string {
	var fields []string
	for i := range structure.NumField() {
		field := structure.Field(i)
		fields = append(fields, field.Name+" "+field.Tag.Get("json"))
	}
	return fields
}

// Our constants and names of types are Kubeflow Trainer's. The types for the network of Volcano come from Volcano.
func TestNamesAreUpstreams(t *testing.T) {
	want := declared(t, "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1")
	want["NetworkTopologySpec"], want["NetworkTopologyMode"] = "type", "type"
	if diff := cmp.Diff(want, declared(t, "lockstep.dev/lockstep/api/trainer/v1alpha1")); diff != "" {
		t.Errorf("-Kubeflow Trainer, +ours:\n%s", diff)
	}
}

// declared returns what a package exports besides functions, and the values of constants.
func declared(t *testing.T, path string) map[string]string {
	t.Helper()
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(folder)), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			general, _ := declaration.(*ast.GenDecl)
			if general == nil {
				continue
			}
			for _, spec := range general.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names[spec.Name.Name] = "type"
				case *ast.ValueSpec:
					names[spec.Names[0].Name] = general.Tok.String()
					if literal, is := spec.Values[0].(*ast.BasicLit); is {
						names[spec.Names[0].Name] = literal.Value
					}
				}
			}
		}
	}
	return names
}
