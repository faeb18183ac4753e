package check

import (
	"regexp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

// volumesHaveSource asks for exactly one of a claim and scratch, and for `readOnly` only where there is something to read.
func volumesHaveSource(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		for i := range r.Volumes {
			v := &r.Volumes[i]
			claim, scratch := v.Claim.V != "", v.Scratch.V != nil
			switch {
			case claim && scratch:
				list.Errorf(diag.VolumeSource, v.Scratch.At, "the volume `%s` has a claim and scratch", v.Name.V).Also(v.Claim.At, "the claim").
					Helpf("keep one of them: a claim outlives the job, scratch goes with the pod")
			case !claim && !scratch:
				list.Errorf(diag.VolumeSource, v.Name.At, "the volume `%s` has neither a claim nor scratch", v.Name.V).
					Helpf("add `claim` with the name of a PersistentVolumeClaim, or `scratch` with a size")
			case scratch && v.ReadOnly.V:
				list.Errorf(diag.VolumeSource, v.ReadOnly.At, "the scratch volume `%s` is read-only: nobody could ever write to it", v.Name.V).
					Helpf("remove `readOnly`")
			}
		}
	}
}

// Names and folders of volumes that the runtime, upstream and the agent use. A volume at one of these folders, below or above it would
// hide them.
var (
	reservedVolumes = []string{"mpi-", "lockstep-", "shared-memory"}
	reservedFolders = []string{
		mpi.AgentDir, mpi.StateDir, mpi.HostfileDir, mpi.SSHAuthMountPath, "/var" + mpi.StateDir, "/dev/shm", "/proc", "/sys",
		"/etc/hosts", "/etc/resolv.conf", "/var/run/secrets/kubernetes.io/serviceaccount",
	}
)

var (
	// systemFolder holds the programs, libraries and devices of every image, its MPI among them: nothing starts without.
	systemFolder = regexp.MustCompile(`^(/usr(/local)?)?(/(s?bin|lib(32|64|exec)?)(/\w+-linux-gnu)?)?$|^/dev/`)
	// installedFolder holds software and programs of many images, the homes of their users, or files that a job takes
	// along (mpi.FilesDir). A claim may bring its own there, an empty folder brings none.
	installedFolder = regexp.MustCompile(`^(/usr(/local)?)?/(s?bin|lib(32|64|exec)?)/|^/etc/|` +
		`^/(app|conda|home|root|venv|workspace)$|` +
		`^/(opt|usr/local)/(amazon|(mini)?conda|cuda|hpcx|intel|mamba|miniforge|mpi|mpich|nvidia|ompi|openmpi|` +
		`pytorch|rocm|spack|ucx|venv)`)
)

// volumesDoNotCollide asks for names and folders that nothing else has.
func volumesDoNotCollide(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		for i := range r.Volumes {
			v := &r.Volumes[i]
			reservedVolume(v, list)
			for j := range i {
				reportVolumeTwice("name", r.Volumes[j].Name, v.Name, list)
				reportVolumeTwice("folder", r.Volumes[j].MountPath, v.MountPath, list)
			}
		}
	}
}

func reservedVolume(v *plan.Volume, list *diag.List) {
	if slices.ContainsFunc(reservedVolumes, func(reserved string) bool { return strings.HasPrefix(v.Name.V, reserved) }) {
		list.Errorf(diag.VolumeTaken, v.Name.At, "the name `%s` of a volume is reserved", v.Name.V).
			Notef("reserved are names that begin with `mpi-` or `lockstep-`, and `shared-memory`").Helpf("choose another name")
	}
	for _, folder := range reservedFolders {
		if own := v.MountPath.V; isWithinFolder(own, folder) || isWithinFolder(folder, own) {
			list.Errorf(diag.VolumeTaken, v.MountPath.At, "a volume at `%s` would hide `%s`, which jobs need", v.MountPath.V, folder).
				Helpf("choose another folder, for example /data")
			return
		}
	}
	if own := v.MountPath.V; systemFolder.MatchString(own) || v.Scratch.V != nil && installedFolder.MatchString(own) {
		list.Errorf(diag.VolumeTaken, v.MountPath.At, "a volume at `%s` would hide what the image has there", own).
			Helpf("write a folder that images do not have, such as `mountPath: /data`")
	}
}

func reportVolumeTwice(what string, a, b plan.Value[string], list *diag.List) {
	if a.V == b.V {
		list.Errorf(diag.VolumeTaken, b.At, "two volumes have the %s `%s`", what, b.V).Also(a.At, "also here").Helpf("choose another %s", what)
	}
}

// isWithinFolder reports whether a folder is another one, or below it.
func isWithinFolder(folder, other string) bool {
	return folder == other || strings.HasPrefix(folder, other+"/")
}

// claimsExist asks that every tenant whose jobs may mount a claim has it in all of its namespaces: pods wait forever for one that
// does not exist.
func claimsExist(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for r := range t.AllowedRuntimes() {
			for i := range r.Volumes {
				claimExists(t, r, &r.Volumes[i], list)
			}
		}
	}
}

func claimExists(t *plan.Tenant, r *plan.Runtime, v *plan.Volume, list *diag.List) {
	if v.Claim.V == "" {
		return
	}
	var missing []string
	for _, namespace := range t.Namespaces {
		if !t.HasClaim(v.Claim.V, namespace.V) {
			missing = append(missing, namespace.V)
		}
	}
	if len(missing) > 0 {
		list.Errorf(diag.ClaimMissing, runtimeNameInTenant(t, r).At, "the runtime `%s` mounts the claim `%s`, which the tenant `%s` does not have in `%s`", r.Name.V, v.Claim.V, t.Name.V, strings.Join(missing, "`, `")).
			Also(v.Claim.At, "mounted here").Helpf("add the claim to `storage` of the tenant, or leave the runtime out of its `runtimes`")
	}
}

// claimsOfOneMachine warns of a claim that one machine at a time can mount, where a job has several nodes: all but those on that machine
// wait for it forever.
func claimsOfOneMachine(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for r := range t.AllowedRuntimes() {
			for i := range r.Volumes {
				claim := t.Claim(r.Volumes[i].Claim.V)
				if claim == nil || r.MaxNodes.V < 2 || !strings.HasPrefix(claim.Access.V, "ReadWriteOnce") {
					continue
				}
				list.Warnf(diag.ClaimOfOneMachine, claim.Access.At, "the claim `%s` is `%s`, and jobs of the runtime `%s` mount it on up to %d nodes", claim.Name.V, claim.Access.V, r.Name.V, r.MaxNodes.V).
					Also(r.Volumes[i].Claim.At, "mounted here").
					Helpf("set `access: ReadWriteMany` with a storage class that has it, or let the runtime run on one node")
			}
		}
	}
}

// readOnlyClaimsNotWritten warns of a runtime that mounts a claim for writing that can only be read.
func readOnlyClaimsNotWritten(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for r := range t.AllowedRuntimes() {
			for i := range r.Volumes {
				v := &r.Volumes[i]
				claim := t.Claim(v.Claim.V)
				if claim == nil || claim.Access.V != "ReadOnlyMany" || v.ReadOnly.V {
					continue
				}
				list.Warnf(diag.WritesReadOnly, v.Claim.At, "the claim `%s` of the tenant `%s` can only be read, and the runtime `%s` mounts it to write", claim.Name.V, t.Name.V, r.Name.V).
					Also(claim.Access.At, "the claim").Helpf("add `readOnly: true`")
			}
		}
	}
}

// runtimeNameInTenant is where a tenant names a runtime, or the tenant's own name when it uses all that admit it. A variant is in the tenant's spec.
func runtimeNameInTenant(t *plan.Tenant, r *plan.Runtime) plan.Value[string] {
	for _, use := range t.Named {
		if use.Runtime == r {
			return use.Name
		}
	}
	for _, v := range t.Variants {
		if v.Runtime == r {
			return r.Name
		}
	}
	return t.Name
}
