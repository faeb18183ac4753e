package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Made up, and by parts, so that nobody takes them for real ones.
const (
	password = "correct-horse-" + "battery"
	hfToken  = "hf_" + "abcdefghijklmnopqrstuvwxyz"
	pat      = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
)

var when = time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)

func unpacked(t *testing.T, b *Bundle) map[string]string {
	t.Helper()
	var archive bytes.Buffer
	if err := b.WriteArchive(&archive, when); err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(&archive)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for reader := tar.NewReader(zip); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(text)
	}
}

// No value that looks like a secret is in it, wherever it stands: in variables, commands, annotations, conditions, and in what programs printed,
// also before the bundle knew that it is one.
func TestNoSecrets(t *testing.T) {
	b := New("train")
	b.AddLine("logs/launcher.log", "connecting with "+password+" as jane")
	b.AddText("events.txt", "Pulling\nfailed: https://jane:"+password+"@registry/v2\n")
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "train-launcher", Namespace: "team",
			Annotations:   map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "all of it", "file-0": "import os\nAPI_KEY = '" + pat + "'\n", "note": "x"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "somebody"}},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "node", Command: []string{"train", "--token", hfToken}, Args: []string{"--user=jane", "PGPASSWORD=" + password},
				Env: []corev1.EnvVar{
					{Name: "DB_PASSWORD", Value: password}, {Name: "PLAIN", Value: "visible"}, {Name: "HUB", Value: hfToken}, {Name: "PIN_SECRET", Value: "1234"},
					{Name: "FROM", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "db"}, Key: "password"}}},
				},
			}},
			Volumes: []corev1.Volume{{Name: "keys", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "train-mpi-ssh-auth"}}}},
		},
		Status: corev1.PodStatus{Message: "exit: Authorization: Bearer abcdefghijkl\n-----BEGIN RSA PRIVATE KEY-----\nMII"},
	}
	if err := b.AddObject("pods/launcher.yaml", pod); err != nil {
		t.Fatal(err)
	}
	b.NoteUnseen("pods: token=" + pat)
	files := unpacked(t, b)
	for name, text := range files {
		for _, secret := range []string{password, hfToken, pat, "1234", "abcdefghijkl", "MII", "all of it"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %q:\n%s", name, secret, text)
			}
		}
	}
	text := files["train/pods/launcher.yaml"]
	for _, kept := range []string{"visible", "DB_PASSWORD", "secretName: train-mpi-ssh-auth", "key: password", "name: db", "--user=jane", "import os", "note: x"} {
		if !strings.Contains(text, kept) {
			t.Errorf("%q is gone:\n%s", kept, text)
		}
	}
	if want := "connecting with *** as jane\n"; files["train/logs/launcher.log"] != want {
		t.Errorf("the log is %q, want %q", files["train/logs/launcher.log"], want)
	}
	if readme := files["train/README.txt"]; !strings.Contains(readme, "Could not be read:\n- pods: token=***") || !strings.Contains(readme, "2026-03-01T12:00:00Z") {
		t.Error(readme)
	}
}

func TestSecretsStayOut(t *testing.T) {
	b := New("train")
	secret := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Data: map[string][]byte{"a": []byte("b")}}
	if err := b.AddObject("secret.yaml", secret); err == nil || len(b.FileNames()) > 0 {
		t.Errorf("err = %v, %v", err, b.FileNames())
	}
	if err := b.AddObject("odd.yaml", func() {}); err == nil {
		t.Error("a function was written")
	}
}

func TestSameBytes(t *testing.T) {
	var archives [2]bytes.Buffer
	for i := range archives {
		b := New("train")
		names := []string{"a", "b", "c"}
		if i == 1 {
			names = []string{"c", "a", "b"}
		}
		for _, name := range names {
			b.AddText(name, name)
		}
		if err := b.WriteArchive(&archives[i], when); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a", "b", "c"}, b.FileNames()); diff != "" {
			t.Error(diff)
		}
	}
	if !bytes.Equal(archives[0].Bytes(), archives[1].Bytes()) {
		t.Error("the order matters")
	}
}

func TestLongLine(t *testing.T) {
	b := New("train")
	b.AddLine("log", strings.Repeat("x", 1<<20))
	if n := len(unpacked(t, b)["train/log"]); n > longestLine+1 {
		t.Errorf("%d bytes", n)
	}
}

func TestFullDisk(t *testing.T) {
	b := New("train")
	b.AddText("a", strings.Repeat("x\n", 1<<10))
	if err := b.WriteArchive(full{}, when); err == nil {
		t.Error("nothing was said")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }
