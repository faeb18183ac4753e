package check

import (
	"path"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// cacheVariables name folders and files that their readers write.
var cacheVariables = strings.Fields(`
	HOME XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME PIP_CACHE_DIR UV_CACHE_DIR CONDA_PKGS_DIRS HF_HOME
	HF_HUB_CACHE HUGGINGFACE_HUB_CACHE HF_DATASETS_CACHE HF_MODULES_CACHE HF_ASSETS_CACHE HF_XET_CACHE
	TRANSFORMERS_CACHE DIFFUSERS_CACHE TORCH_HOME TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR TRITON_HOME
	TRITON_CACHE_DIR PYTORCH_KERNEL_CACHE_PATH CUDA_CACHE_PATH MIOPEN_USER_DB_PATH MIOPEN_CUSTOM_CACHE_DIR
	NUMBA_CACHE_DIR MPLCONFIGDIR KERAS_HOME TFHUB_CACHE_DIR JAX_COMPILATION_CACHE_DIR VLLM_CACHE_ROOT
	PYTHONPYCACHEPREFIX WANDB_DIR WANDB_CACHE_DIR WANDB_DATA_DIR HOROVOD_TIMELINE NCCL_DEBUG_FILE
	NCCL_TOPO_DUMP_FILE NCCL_GRAPH_DUMP_FILE
`)

// cachesCanBeWritten warns of a cache in a volume that can only be read. A program that is offline writes no models.
func cachesCanBeWritten(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		variables := slices.Concat(r.Profile.Env, r.Env)
		isOffline := slices.ContainsFunc(variables, func(v plan.Variable) bool {
			return strings.HasSuffix(v.Name.V, "_OFFLINE") && !slices.Contains([]string{"", "0", "false"}, v.Value.V)
		})
		for _, v := range variables {
			readsModels := isOffline && (strings.HasPrefix(v.Name.V, "HF_") || strings.HasSuffix(v.Name.V, "_CACHE"))
			volume := volumeOf(r, path.Clean(v.Value.V))
			if volume == nil || !volume.ReadOnly.V || readsModels || v.Why != "" || !slices.Contains(cacheVariables, v.Name.V) {
				continue
			}
			list.Warnf(diag.Contradiction, v.Value.At, "`%s` is in `%s`, a volume of the runtime `%s` that can only be read",
				v.Name.V, volume.MountPath.V, r.Name.V).Also(volume.ReadOnly.At, "the volume").
				Helpf("write a folder of a scratch volume; if programs only read there, write why as `reason`")
		}
	}
}

// volumeOf returns the innermost volume around a folder, nil for a folder of the image.
func volumeOf(r *plan.Runtime, folder string) *plan.Volume {
	var found *plan.Volume
	for i := range r.Volumes {
		own := &r.Volumes[i]
		if isWithinFolder(folder, own.MountPath.V) && (found == nil || len(own.MountPath.V) > len(found.MountPath.V)) {
			found = own
		}
	}
	return found
}
