package attacker

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

// Writer writes TrainJobs: each field of the API twice, then one part of it as often as another, with values that could do harm, alone and with
// others.
type Writer struct {
	fields [][]string
	parts  [][][]string
}

// NewWriter takes the fields from the types of the API.
func NewWriter() *Writer {
	fields := fieldsOf(reflect.TypeFor[trainer.TrainJobSpec](), nil)
	return &Writer{fields, partsOf(fields)}
}

// Fields is the number of fields of a TrainJob.
func (w *Writer) Fields() int { return len(w.fields) }

// TrainJob returns one with a runtime, and the field that it is about. The same try gives the same TrainJob.
func (w *Writer) TrainJob(try int, runtime string) (written *trainer.TrainJob, field string) {
	random := rand.New(rand.NewPCG(uint64(try), 3)) //nolint:gosec // the same TrainJobs in each run
	path := one(random, one(random, w.parts...)...)
	if try < 2*len(w.fields) {
		path = w.fields[try/2]
	}
	written = w.attack(random, path)
	// Another runtime is refused for another reason.
	written.Spec.RuntimeRef = trainer.RuntimeRef{Name: runtime}
	return written, strings.Join(path, ".")
}

// attack is a TrainJob of which one field is written, and often more.
func (w *Writer) attack(random *rand.Rand, field []string) *trainer.TrainJob {
	written := &trainer.TrainJob{}
	written.APIVersion, written.Kind = trainer.GroupVersion.String(), trainer.TrainJobKind
	written.Name, written.Namespace = "demo", "vision"
	written.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "lockstep"}
	write(random, reflect.ValueOf(&written.Spec), field, "")
	for range random.IntN(3) {
		write(random, reflect.ValueOf(&written.Spec), one(random, one(random, w.parts...)...), "")
	}
	return written
}

// Untyped is a TrainJob as an API server lets policies see it.
func Untyped(tb testing.TB, written *trainer.TrainJob) *unstructured.Unstructured {
	tb.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(written)
	if err != nil {
		tb.Fatal(err)
	}
	delete(content, "status")
	dropNull(content)
	return &unstructured.Unstructured{Object: content}
}

// dropNull takes away what the API server would not let through to a policy.
func dropNull(v any) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, item any) bool { return item == nil })
		for _, item := range v {
			dropNull(item)
		}
	case []any:
		for _, item := range v {
			dropNull(item)
		}
	}
}

// scalars are types that have fields and are values all the same.
var scalars = []reflect.Type{
	reflect.TypeFor[resource.Quantity](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[metav1.FieldsV1](),
}

// fieldsOf are the ways through a type to all fields that are values, those below lists and pointers included.
func fieldsOf(t reflect.Type, path []string) [][]string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || slices.Contains(scalars, t) {
		return [][]string{slices.Clone(path)}
	}
	var all [][]string
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			all = append(all, fieldsOf(f.Type, append(path, f.Name))...)
		}
	}
	return all
}

// partsOf puts fields together that are about one matter, such as the node selector or the variables of a container, so that a matter with
// a hundred fields is attacked as often as one with a single field. What is refused as a whole is left out.
func partsOf(fields [][]string) [][][]string {
	parts := map[string][][]string{}
	for _, f := range fields {
		source := slices.Index(f, "VolumeSource") + 1
		if slices.Contains(f, "InitContainers") || source > 0 && !slices.Contains([]string{"Secret", "Projected", "EmptyDir"}, f[source]) {
			continue
		}
		part := strings.Join(f[:min(len(f), depthOf(f))], ".")
		parts[part] = append(parts[part], f)
	}
	var sorted [][][]string
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		sorted = append(sorted, parts[part])
	}
	return sorted
}

// depthOf is how many names of a way say which matter it is about.
func depthOf(f []string) int {
	const deep = 11 // RuntimePatches … Template.Spec.Containers.Env
	for i, name := range f {
		if name == "SecurityContext" || name == "Metadata" && f[i+1] != "Labels" && f[i+1] != "Annotations" {
			return i + 1
		}
	}
	return deep
}

// identities are the names by which items of lists meet those of the runtime.
var identities = map[string][]string{
	"RuntimePatches": {"me.example.com/me"}, "ReplicatedJobs": {"node", "launcher"}, "Containers": {"node"}, "InitContainers": {"gate"},
	"Volumes": {"data", "data", "lockstep-agent"}, "VolumeMounts": {"data", "data", "mpi-ssh-auth"}, "Env": {"A", "A", "NVIDIA_VISIBLE_DEVICES"},
}

// write goes to a field, makes what is missing on the way, and gives it a value.
func write(random *rand.Rand, v reflect.Value, path []string, name string) {
	switch {
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		write(random, v.Elem(), path, name)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		if v.Len() == 0 {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			identify(random, v.Index(0), name)
		}
		write(random, v.Index(0), path, name)
	case len(path) > 0:
		write(random, v.FieldByName(path[0]), path[1:], path[0])
	default:
		give(random, v, name)
	}
}

func identify(random *rand.Rand, item reflect.Value, list string) {
	for _, key := range []string{"Name", "Manager"} {
		if f := item.FieldByName(key); f.IsValid() && identities[list] != nil {
			f.SetString(one(random, identities[list]...))
		}
	}
	if f := item.FieldByName("MountPath"); f.IsValid() {
		f.SetString(one(random, "/data", one(random, paths...)))
	}
}

var (
	words = []string{
		"", "x", "node", "launcher", "language", "other-mpi-ssh-auth", "other-mpi-ssh-auth", "lockstep-agent", "mpi-ssh-auth", "mpi-rdma", "pool", "gpu", "cpu",
		"NVIDIA_VISIBLE_DEVICES", "all", "Exists", "NoSchedule", "nvidia.com/gpu", "Unconfined", "Bidirectional", "kubernetes.io/hostname", "$patch", "999999999999",
	}
	paths = []string{"/data", "/etc", "/", "/opt/lockstep/bin", "/var/run/secrets", "/run", "/run/secrets/lockstep.dev/mpi-ssh", "/etc/mpi/hostfile", "/etc/./hosts", "etc", "//etc/mpi", "/a/../opt", "/etc/ssl"}
	keys  = []string{
		"team", "rack", "pool", "pool", "kubernetes.io/hostname", "$patch", "$retainKeys", "alpha.jobset.sigs.k8s.io/exclusive-topology", "jobset.sigs.k8s.io/jobset-name",
		"k8s.v1.cni.cncf.io/networks", "v1.multus-cni.io/default-network", "cni.projectcalico.org/ipAddrs", "io.kubernetes.cri-o.Devices", "scheduling.volcano.sh/queue-name",
		"lockstep.dev/trainjob", "kueue.x-k8s.io/queue-name", "sidecar.istio.io/inject", "azure.workload.identity/use", "prometheus.io/scrape", "app.kubernetes.io/name",
	}
	values  = []string{"replace", "delete", "merge", "true", "gpu", "cpu", "demo", "other", ""}
	numbers = []int64{0, 1, -1, 8, 121, 3600, 1 << 31, 1000}
	amount  = []string{"0", "1", "8", "9", "1Ti", "2Ti", "-1", "1e18", "500m"}
)

// give sets a value of a kind that attacks.
func give(random *rand.Rand, v reflect.Value, name string) {
	text := func() string {
		if strings.Contains(name, "Path") {
			return one(random, paths...)
		}
		return one(random, words...)
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text())
	case reflect.Bool:
		v.SetBool(random.IntN(4) > 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		if number := one(random, numbers...); !v.OverflowInt(number) {
			v.SetInt(number)
		}
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Slice:
		item := reflect.New(v.Type().Elem()).Elem()
		give(random, item, name)
		v.Set(reflect.Append(reflect.Zero(v.Type()), item))
	case reflect.Map:
		giveMap(random, v)
	case reflect.Struct:
		giveScalar(random, v)
	}
}

func giveMap(random *rand.Rand, v reflect.Value) {
	v.Set(reflect.MakeMap(v.Type()))
	for range 1 + random.IntN(2) {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if value.Kind() == reflect.Struct {
			key.SetString(one(random, "cpu", "memory", "nvidia.com/gpu", "storage"))
			giveScalar(random, value)
		} else {
			key.SetString(one(random, keys...))
			value.SetString(one(random, values...))
		}
		v.SetMapIndex(key, value)
	}
}

func giveScalar(random *rand.Rand, v reflect.Value) {
	switch v.Interface().(type) {
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse(one(random, amount...))))
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(1_000_000, 0))))
	case intstr.IntOrString:
		v.Set(reflect.ValueOf(intstr.FromInt32(1)))
	case metav1.FieldsV1:
		v.Set(reflect.ValueOf(*metav1.NewFieldsV1("{}")))
	}
}

func one[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }
