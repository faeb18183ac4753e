package results

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/archive"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// printed returns the log of the job that copies a file.
func printed(t *testing.T, file string) []logs.Line {
	t.Helper()
	var output bytes.Buffer
	_ = archive.Print(&output, file) // the log has the error
	var lines []logs.Line
	for line := range strings.Lines("mpi-agent: all nodes answered\n" + output.String()) {
		if len(line) > 4096 {
			t.Errorf("a line of %d bytes may be torn by another one", len(line))
		}
		lines = append(lines, logs.Line{Raw: strings.TrimSuffix(line, "\n")})
	}
	return lines
}

// ran is the JobSet of a job with a claim and devices.
func ran() *jobset.JobSet {
	pod := corev1.PodSpec{
		Containers: []corev1.Container{{
			Name:         mpi.Container,
			VolumeMounts: []corev1.VolumeMount{{Name: "claim-0", MountPath: "/results"}, {Name: "tmp", MountPath: "/tmp"}},
			Resources:    corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}},
		}},
		Volumes: []corev1.Volume{{Name: "tmp"}, {Name: "claim-0", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "models"},
		}}},
	}
	set := &jobset.JobSet{}
	set.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: mpi.LauncherJob}}
	set.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec = pod
	return set
}

// unpack writes what a log holds into a folder.
func unpack(t *testing.T, lines []logs.Line, folder, name string) (Copied, bool, error) {
	t.Helper()
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var data bytes.Buffer
	a := Archive{To: &data}
	if err := a.Take(lines); err != nil {
		t.Fatal(err)
	}
	copied, err := Extract(&data, root, name)
	return copied, a.Ended && a.Failure == "", err
}

// TestCopy holds the copied files against the originals, with odd bytes and names.
func TestCopy(t *testing.T) {
	source := filepath.Join(t.TempDir(), "run 7")
	noise := make([]byte, 100_000)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	want := map[string]string{"model.pt": string(noise), "deep/er/-n": "text\n", "empty": ""}
	for name, content := range want {
		path := filepath.Join(source, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"latest": "model.pt", "away": "/etc/passwd", "up": "../x"} {
		if err := os.Symlink(target, filepath.Join(source, name)); err != nil {
			t.Fatal(err)
		}
	}
	to := t.TempDir()
	lines := printed(t, source)
	copied, ended, err := unpack(t, lines, to, "mine")
	skipped := []string{"mine/away", "mine/up"}
	if err != nil || !ended || copied.Files != len(want) || !slices.Equal(copied.Skipped, skipped) {
		t.Errorf("%+v, ended %v: %v", copied, ended, err)
	}
	for name, content := range want {
		got, err := os.ReadFile(filepath.Join(to, "mine", name))
		if err != nil || string(got) != content {
			t.Errorf("%s has %d bytes, want %d: %v", name, len(got), len(content), err)
		}
	}
	if target, err := os.Readlink(filepath.Join(to, "mine", "latest")); target != "model.pt" {
		t.Errorf("the link leads to %q: %v", target, err)
	}
	if _, _, err := unpack(t, lines, to, "mine"); err != nil {
		t.Errorf("a second copy: %v", err)
	}
	if _, _, err := unpack(t, printed(t, filepath.Join(source, "model.pt")), to, "alone.pt"); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(to, "alone.pt")); err != nil || !bytes.Equal(got, noise) {
		t.Errorf("a single file has %d bytes: %v", len(got), err)
	}
	for i := range lines {
		_, _, err := unpack(t, slices.Delete(slices.Clone(lines), i, i+1), t.TempDir(), "torn")
		if err == nil && strings.HasPrefix(lines[i].Raw, mpi.ArchiveMark) {
			t.Errorf("line %d of the archive was lost, and nobody noticed", i)
		}
	}
	if _, ended, err := unpack(t, printed(t, filepath.Join(source, "absent")), to, "absent"); ended || err == nil {
		t.Error("a file that is not there was copied")
	}
}

// TestExtractStaysInside: an archive writes nothing outside of the folder, and leaves no half files.
func TestExtractStaysInside(t *testing.T) {
	outside := t.TempDir()
	folder := filepath.Join(outside, "inside")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(source, []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := unpack(t, printed(t, source), folder, "../escaped"); err == nil {
		t.Error("a file was written outside of the folder")
	}
	if left, _ := os.ReadDir(outside); len(left) != 1 {
		t.Errorf("%v is there", left)
	}
	root, _ := os.OpenRoot(folder)
	defer root.Close()
	if err := writeFile(root, "half", io.MultiReader(strings.NewReader("ha"), failing{}), 0o600); err == nil {
		t.Error("the failure is lost")
	}
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("%v is left of half a file", left)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestCopyJob: the copy runs as the job did, and takes no more than it needs.
func TestCopyJob(t *testing.T) {
	old := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{
		Name: "train", Annotations: map[string]string{mpi.TraceAnnotation: "traffic"},
	}}
	old.Spec.RuntimePatches = []trainer.RuntimePatch{{Manager: "example.com/volumes"}}
	runtime := &mpijob.Runtime{Annotations: map[string]string{mpi.MinNodesAnnotation: "2"}}
	job, err := CopyJob(view.JobObjects{TrainJob: old, Runtime: runtime, JobSet: ran()}, "cp-1", "/results/model.pt")
	if err != nil {
		t.Fatal(err)
	}
	asked := job.Spec.Trainer
	gpus, named := asked.ResourcesPerNode.Limits["nvidia.com/gpu"]
	if *asked.NumNodes != 2 || *asked.NumProcPerNode != 1 || !named || !gpus.IsZero() || len(job.Annotations) > 0 {
		t.Errorf("it asks for %+v with annotations %v", asked, job.Annotations)
	}
	if len(asked.Env) != 1 || asked.Env[0].Name != "LOCKSTEP_ALLOW_IDLE_NODES" {
		t.Errorf("a copy on two nodes would fail, because no rank runs there: %v", asked.Env)
	}
	if len(job.Spec.RuntimePatches) != 1 {
		t.Error("the patches of the job, with its user and its volumes, are lost")
	}
}

func TestCheckPath(t *testing.T) {
	claims := Claims(ran())
	for file, want := range map[string]string{
		"/results": "", "/results/a": "",
		"/results2": "(claim `models`)", "/tmp/x": "its claims are at /results", "/": "/results",
	} {
		err := CheckPath("train", file, claims)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if err := CheckPath("train", "/tmp/x", nil); err == nil || !strings.Contains(err.Error(), "--pvc") {
		t.Errorf("without claims: %v", err)
	}
}
