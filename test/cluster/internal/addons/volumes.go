package addons

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// volumes is how many PersistentVolumes a cluster has for claims without a class.
const volumes = 8

// AddVolumes makes folders below root, and a PersistentVolume of each. All nodes reach
// them, as those of a network file system, and pods of any user may write there.
func (a *Addons) AddVolumes(root string) error {
	for i := range volumes {
		folder := filepath.Join(root, fmt.Sprint(i))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return fmt.Errorf("make a volume: %w", err)
		}
		if err := os.Chmod(folder, 0o777); err != nil { // past the umask
			return fmt.Errorf("make a volume: %w", err)
		}
		a.ground = append(a.ground, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "PersistentVolume",
			"metadata": map[string]any{"name": fmt.Sprintf("shared-%d", i)},
			"spec": map[string]any{
				"capacity":                      map[string]any{"storage": "10Gi"},
				"accessModes":                   []any{"ReadWriteMany", "ReadWriteOnce", "ReadOnlyMany"},
				"persistentVolumeReclaimPolicy": "Retain",
				"hostPath":                      map[string]any{"path": folder, "type": "Directory"},
			},
		}})
	}
	return nil
}
