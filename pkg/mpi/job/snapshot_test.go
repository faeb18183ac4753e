package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestSnapshot(t *testing.T) {
	runtime := restartable("2")
	data := resolved(t, runtime).HostfileConfigMap().Data
	kept, err := RuntimeFrom(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(runtime, kept, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("a job that goes on is the job that it was: -want, +got:\n%s", diff)
	}
	if kept, err = RuntimeFrom(map[string]string{"hostfile": ""}); kept != nil || err != nil {
		t.Errorf("a job of an earlier version has none: %v, %v", kept, err)
	}
	if _, err = RuntimeFrom(map[string]string{snapshotKey: "{"}); err == nil {
		t.Error("what is no runtime must not be taken for one")
	}
}
