package check

import (
	"path"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

var (
	// temporaryVariables name folders that their readers do not make.
	temporaryVariables = strings.Fields(`TMPDIR TMP TEMP I_MPI_TMPDIR OMPI_MCA_orte_tmpdir_base PRTE_MCA_prte_tmpdir_base`)
	// commonFolders are writable in all images and pods.
	commonFolders = []string{"/tmp", "/var/tmp", "/dev/shm"}
)

// temporaryFoldersExist warns of a folder for temporary files that no volume gives, and that images hardly have. An
// empty volume has no folders within.
func temporaryFoldersExist(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		for _, volume := range r.Volumes {
			if volume.ReadOnly.V && slices.Contains(commonFolders, volume.MountPath.V) {
				list.Warnf(diag.Contradiction, volume.ReadOnly.At, "`%s` is read-only: no program can write temporary files",
					volume.MountPath.V).Helpf("remove `readOnly`, or choose another folder, such as /data")
			}
			if volume.ReadOnly.V && isWithinFolder(mpi.UserHome, volume.MountPath.V) {
				list.Warnf(diag.Contradiction, volume.ReadOnly.At, "`%s` is read-only: Kubeflow's SDK writes programs to `%s`",
					volume.MountPath.V, mpi.UserHome).Helpf("remove `readOnly`, or choose another folder, such as /data")
			}
		}
		for _, v := range slices.Concat(r.Profile.Env, r.Env) {
			folder := path.Clean(v.Value.V)
			isThere := slices.Contains(commonFolders, folder) || strings.Contains(folder, "$") ||
				slices.ContainsFunc(r.Volumes, func(volume plan.Volume) bool {
					own, claim := volume.MountPath.V, volume.Scratch.V == nil
					return !volume.ReadOnly.V && (folder == own || claim && isWithinFolder(folder, own))
				})
			if !isThere && v.Why == "" && slices.Contains(temporaryVariables, v.Name.V) {
				list.Warnf(diag.Contradiction, v.Value.At, "`%s` is `%s`, a folder that no writable volume of the runtime `%s` has",
					v.Name.V, folder, r.Name.V).Also(r.Name.At, "the runtime").
					Helpf("write `/tmp`, or the `mountPath` of a scratch volume; if the image has it, write why as `reason`")
			}
		}
	}
}
