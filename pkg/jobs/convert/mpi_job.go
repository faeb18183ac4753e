package convert

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// What mpi-operator and the older training-operator read (kubeflow/mpi-operator v0.8.0, kubeflow/training-operator v1.9).
const (
	kindMPIJob     = "MPIJob"
	versionV2beta1 = "kubeflow.org/v2beta1"
	versionV1      = "kubeflow.org/v1"

	launcherReplica = "Launcher"
	workerReplica   = "Worker"
)

// MPIJob is an MPIJob as it was written.
type MPIJob struct {
	*yamlDocument
	// Version is its apiVersion.
	Version string
	spec    mpiJobManifest
	// unknown are the paths of fields that the version does not have.
	unknown []string
}

// Name is that of the MPIJob, empty where the API server shall make one.
func (j *MPIJob) Name() string { return j.spec.Name }

// Namespace is empty where none is written.
func (j *MPIJob) Namespace() string { return j.spec.Namespace }

// Span is where the MPIJob begins.
func (j *MPIJob) Span() source.Span { return j.at }

// mpiJobManifest is what we read of an MPIJob. Fields that only one version has are taken away from the other by reportForeign.
type mpiJobManifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              mpiJobSpec   `json:"spec"`
	Status            mpiJobStatus `json:"status,omitempty"`
}

// mpiJobStatus is what we read of a status; what else is in it is the operator's.
type mpiJobStatus struct {
	Conditions []struct {
		Type   string `json:"type"`
		Status string `json:"status"`
	} `json:"conditions,omitempty"`
}

type mpiJobSpec struct {
	SlotsPerWorker         *int32                  `json:"slotsPerWorker,omitempty"`
	RunLauncherAsWorker    *bool                   `json:"runLauncherAsWorker,omitempty"`
	RunPolicy              runPolicy               `json:"runPolicy,omitempty"`
	ReplicaSpecs           map[string]*replicaSpec `json:"mpiReplicaSpecs"`
	SSHAuthMountPath       string                  `json:"sshAuthMountPath,omitempty"`
	LauncherCreationPolicy string                  `json:"launcherCreationPolicy,omitempty"`
	MPIImplementation      string                  `json:"mpiImplementation,omitempty"`
	// MainContainer and CleanPodPolicy are of v1.
	MainContainer  string  `json:"mainContainer,omitempty"`
	CleanPodPolicy *string `json:"cleanPodPolicy,omitempty"`
}

type runPolicy struct {
	CleanPodPolicy          *string           `json:"cleanPodPolicy,omitempty"`
	TTLSecondsAfterFinished *int32            `json:"ttlSecondsAfterFinished,omitempty"`
	ActiveDeadlineSeconds   *int64            `json:"activeDeadlineSeconds,omitempty"`
	BackoffLimit            *int32            `json:"backoffLimit,omitempty"`
	SchedulingPolicy        *schedulingPolicy `json:"schedulingPolicy,omitempty"`
	Suspend                 *bool             `json:"suspend,omitempty"`
	ManagedBy               *string           `json:"managedBy,omitempty"`
}

type schedulingPolicy struct {
	MinAvailable           *int32              `json:"minAvailable,omitempty"`
	Queue                  string              `json:"queue,omitempty"`
	MinResources           corev1.ResourceList `json:"minResources,omitempty"`
	PriorityClass          string              `json:"priorityClass,omitempty"`
	ScheduleTimeoutSeconds *int32              `json:"scheduleTimeoutSeconds,omitempty"`
}

type replicaSpec struct {
	Replicas      *int32                 `json:"replicas,omitempty"`
	Template      corev1.PodTemplateSpec `json:"template,omitempty"`
	RestartPolicy string                 `json:"restartPolicy,omitempty"`
}

// foreign are the fields that only the other version has.
var foreign = map[string][]string{
	versionV1:      {"spec.runLauncherAsWorker", "spec.sshAuthMountPath", "spec.launcherCreationPolicy", "spec.mpiImplementation", "spec.runPolicy.managedBy"},
	versionV2beta1: {"spec.mainContainer", "spec.cleanPodPolicy"},
}

func decodeJob(d *yamlDocument, version string, value any) (*MPIJob, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	j := &MPIJob{yamlDocument: d, Version: version}
	unknown, err := kjson.UnmarshalStrict(data, &j.spec)
	if err != nil {
		return nil, d.describeTypeError(err, value)
	}
	for _, strict := range unknown {
		if found := unknownField.FindStringSubmatch(strict.Error()); found != nil && !isWithinPath(found[1], "status") {
			j.unknown = append(j.unknown, found[1])
		}
	}
	for _, path := range foreign[version] {
		if d.hasPath(path) {
			j.unknown = append(j.unknown, path)
		}
	}
	return j, j.checkRequired()
}

var unknownField = regexp.MustCompile(`^unknown field "(.*)"$`)

// describeTypeError says where a value has the wrong type.
func (d *yamlDocument) describeTypeError(err error, value any) error {
	var wrong *json.UnmarshalTypeError
	message := strings.TrimPrefix(err.Error(), "json: ")
	at := d.at
	if what, field, found := strings.Cut(message, " into Go struct field "); found {
		name, of, _ := strings.Cut(field, " of type ")
		_, path, _ := strings.Cut(name, ".")
		path = d.pathOfValue(path, strings.TrimPrefix(what, "cannot unmarshal "), value)
		at, message = d.placeOf(path), fmt.Sprintf("%s of `%s`: %s", strings.TrimSuffix(what, " "), path, of)
	}
	if errors.As(err, &wrong) && wrong.Field != "" {
		path := d.pathOfValue(wrong.Field, wrong.Value, value)
		at, message = d.placeOf(path), fmt.Sprintf("`%s` is a %s, and must be of type %s", path, wrong.Value, wrong.Type)
	}
	return &placedError{at: at, message: message}
}

// pathOfValue returns the path of a value that the decoder found to be of a kind, such as `string`. The decoder names fields only: neither the keys of a
// mapping that has any, such as `Worker`, nor indices of lists.
func (d *yamlDocument) pathOfValue(fields, kind string, root any) string {
	kind, _, _ = strings.Cut(kind, " ") // `number 1.5`
	var found []string
	var look func(value any, path string, fields []string)
	look = func(value any, path string, fields []string) {
		if len(fields) == 0 {
			if jsonKindOf(value) == kind {
				found = append(found, path)
			}
			return
		}
		switch value := value.(type) {
		case []any:
			for i, item := range value {
				look(item, fmt.Sprintf("%s[%d]", path, i), fields)
			}
		case map[string]any:
			if below, is := value[fields[0]]; is {
				look(below, childPath(path, fields[0]), fields[1:])
				return
			}
			for key, below := range value {
				look(below, childPath(path, key), fields)
			}
		}
	}
	look(root, "", strings.Split(fields, "."))
	if len(found) == 0 {
		return fields
	}
	return slices.MinFunc(found, func(a, b string) int {
		return cmp.Or(cmp.Compare(d.placeOf(a).Line, d.placeOf(b).Line), cmp.Compare(d.placeOf(a).Column, d.placeOf(b).Column), cmp.Compare(a, b))
	})
}

// jsonKindOf is how encoding/json calls what a value is.
func jsonKindOf(value any) string {
	switch value.(type) {
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "bool"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return ""
}

// checkRequired refuses what mpi-operator refuses and nothing could be made of (pkg/apis/kubeflow/validation).
func (j *MPIJob) checkRequired() error {
	for _, role := range []string{launcherReplica, workerReplica} {
		path := childPath("spec.mpiReplicaSpecs", role)
		if spec := j.spec.Spec.ReplicaSpecs[role]; spec != nil && len(spec.Template.Spec.Containers) == 0 {
			return &placedError{at: j.placeOf(path), message: "`" + path + ".template.spec.containers` is missing: at least one container is needed"}
		}
	}
	launcher := j.spec.Spec.ReplicaSpecs[launcherReplica]
	switch {
	case launcher == nil:
		return &placedError{at: j.placeOf("spec.mpiReplicaSpecs"), message: "`spec.mpiReplicaSpecs.Launcher` is missing: its command is what the job runs"}
	case launcher.Replicas != nil && *launcher.Replicas != 1:
		return &placedError{at: j.placeOf(launcherPath + ".replicas"), message: fmt.Sprintf("the launcher has %d replicas; it has 1", *launcher.Replicas)}
	case j.spec.Name == "" && j.spec.GenerateName == "":
		return &placedError{at: j.placeOf("metadata"), message: "`metadata.name` is missing"}
	}
	return nil
}
