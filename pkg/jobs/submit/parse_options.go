package submit

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ParseClaim reads CLAIM:/FOLDER, or CLAIM:/FOLDER:ro for one that is only read.
func ParseClaim(text string) (VolumeClaim, error) {
	name, folder, _ := strings.Cut(text, ":")
	folder, mode, _ := strings.Cut(folder, ":")
	if len(validation.IsDNS1123Subdomain(name)) > 0 || !path.IsAbs(folder) || path.Clean(folder) != folder || folder == "/" || mode != "" && mode != "ro" && mode != "rw" {
		return VolumeClaim{}, fmt.Errorf("`%s` is not CLAIM:/FOLDER or CLAIM:/FOLDER:ro, such as `datasets:/data:ro`", text)
	}
	return VolumeClaim{Name: name, Path: folder, ReadOnly: mode == "ro"}, nil
}

// ParseEnv reads NAME=VALUE.
func ParseEnv(text string) (corev1.EnvVar, error) {
	name, value, found := strings.Cut(text, "=")
	if !found || len(validation.IsEnvVarName(name)) > 0 {
		return corev1.EnvVar{}, fmt.Errorf("`%s` is not NAME=VALUE, such as `OMP_NUM_THREADS=8`", text)
	}
	return corev1.EnvVar{Name: name, Value: value}, nil
}

// nativeResources have no domain in their names; others have, but for huge pages.
var nativeResources = []string{"cpu", "memory", "ephemeral-storage"}

// leastMemory is the least with which a container starts at all.
var leastMemory = resource.MustParse("6Mi")

// ParseResources reads NAME=QUANTITY,….
func ParseResources(texts []string) (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	for _, text := range texts {
		name, amount, found := strings.Cut(text, "=")
		quantity, err := resource.ParseQuantity(amount)
		unit := strings.TrimLeft(amount, "0123456789.")
		switch short := strings.ToUpper(strings.TrimRight(unit, "iIbB")); {
		case found && err != nil && strings.HasSuffix(strings.ToUpper(unit), "B") && len(short) == 1:
			return nil, fmt.Errorf("`%s` is no unit of `%s`: write `%s%s` or `%[3]s%[5]si`",
				unit, text, strings.TrimSuffix(amount, unit), strings.Replace(short, "K", "k", 1), short)
		case found && !strings.Contains(name, "/") && !slices.Contains(nativeResources, name) && !strings.HasPrefix(name, "hugepages-"):
			return nil, fmt.Errorf("there is no resource `%s`: it is one of %s, or has a domain, as `nvidia.com/gpu`", name, strings.Join(nativeResources, ", "))
		}
		if !found || err != nil || quantity.Sign() <= 0 || len(validation.IsQualifiedName(name)) > 0 {
			return nil, fmt.Errorf("`%s` is not RESOURCE=QUANTITY, such as `memory=16Gi` or `nvidia.com/gpu=1`", text)
		}
		if name == "memory" && quantity.Cmp(leastMemory) < 0 {
			return nil, fmt.Errorf("`%s` is too little for any container: did you mean `memory=%sMi`? At least %s are needed",
				text, strings.TrimSuffix(amount, unit), leastMemory.String())
		}
		list[corev1.ResourceName(name)] = quantity
	}
	return list, nil
}
