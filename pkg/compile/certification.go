package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"lockstep.dev/lockstep/pkg/compile/check"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/patch/overlay"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

// fingerprint is a digest of what the pods of a runtime are: which MPI they have, and their templates. How many there are, how long they may run and
// how they are queued is not in it, nor what is written on the runtime for people: a test is none of that.
func fingerprint(runtime *object.Node) string {
	made := sha256.New()
	add := func(value any) {
		text, err := json.Marshal(value) // maps are written in the order of their keys
		if err != nil {
			panic(err) // texts, numbers, maps and lists can be written
		}
		made.Write(append(text, '\n'))
	}
	for _, label := range []string{mpi.ImplementationLabel, mpi.VersionLabel} {
		add(runtime.StringAt("metadata", "labels", label))
	}
	if jobs := runtime.At("spec", "template", "spec", "replicatedJobs"); jobs != nil {
		for i := range jobs.Children {
			add(jobs.Children[i].StringAt("name"))
			if pod := jobs.Children[i].At("template", "spec", "template"); pod != nil {
				add(pod.Value())
			}
		}
	}
	return "sha256:" + hex.EncodeToString(made.Sum(nil))
}

var fingerprintRule = origin.Rule("fingerprint", "a digest of the pods of a runtime, patches included, by which a certification knows what was tested")

// addFingerprints writes fingerprints onto the runtimes of a cluster, after patches: those change pods too.
func addFingerprints(objects []object.Object) {
	for i := range objects {
		metadata := objects[i].Root.Get("metadata")
		if metadata.Get("annotations") == nil {
			metadata.Put(object.Map("annotations"))
		}
		metadata.Get("annotations").Put(object.Text(mpi.FingerprintAnnotation, fingerprint(&objects[i].Root), fingerprintRule))
	}
}

// judgeCertifications finds out which certified runtimes of a sound plan have changed, and warns of them.
func judgeCertifications(c *plan.Cluster, patches *overlay.Overlay, list *diag.List) {
	if len(c.Certified) == 0 {
		return
	}
	found := &diag.List{} // what is wrong with objects is told when they are compiled
	objects, _ := patches.Apply(lower.RuntimeObjects(c, found), found)
	now := map[string]string{}
	for i := range objects {
		now[objects[i].ID.Name] = fingerprint(&objects[i].Root)
	}
	for i := range c.Certified {
		own := &c.Certified[i]
		own.Stale = now[own.Runtime.V] != own.Fingerprint.V
	}
	check.CertificationsHold(c, list)
}
