package decode

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// tenantText is a spec like those of tenants/, about 1 kB.
func tenantText(i int) []byte {
	return fmt.Appendf(nil, `# yaml-language-server: $schema=../docs/schemas/tenant.json
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata:
  name: team-%04[1]d
spec:
  displayName: Team number %04[1]d
  people:
    admins: [team-%04[1]d-admins]
    editors: [team-%04[1]d-editors]
    viewers: [team-%04[1]d-viewers]
  namespaces:
    - team-%04[1]d
    - team-%04[1]d-train
  clusters: [local]
  # The runtimes that this team may use, see catalog/runtimes.
  runtimes:
    - openmpi4-cpu
    - openmpi5-cpu
    - mpich-cpu
  quota:
    cpu: 8
    memory: 16Gi
    pods: 40
    jobs: 20
  limits:
    container:
      max:
        cpu: 4
        memory: 4Gi
      default:
        cpu: 200m
        memory: 256Mi
  network:
    egress:
      # The object store.
      - cidr: 10.20.0.0/16
        ports:
          - port: 443
            protocol: TCP
    ingress: [{namespace: team-%04[1]d-train}]
`, i)
}

func tenantFiles(n int) []*source.File {
	files := make([]*source.File, n)
	for i := range files {
		files[i] = source.NewFile(fmt.Sprintf("tenants/team-%04d.yaml", i), tenantText(i))
	}
	return files
}

// BenchmarkFiles decodes the specs of a repository with 1,000 tenants.
func BenchmarkFiles(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		files := tenantFiles(1023)
		b.StartTimer()
		list := &diag.List{}
		if documents := Files(files, list); len(documents) != 1023 || list.Len() > 0 {
			b.Fatal(len(documents), list.Sorted()[0].Message)
		}
	}
}

// BenchmarkLoad reads them from a disk too, as the compiler does.
func BenchmarkLoad(b *testing.B) {
	folder := b.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "tenants"), 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range 1023 {
		if err := os.WriteFile(filepath.Join(folder, "tenants", fmt.Sprintf("t%04d.yaml", i)), tenantText(i), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	b.ReportAllocs()
	for b.Loop() {
		list := &diag.List{}
		if documents := (Loader{Root: root.FS()}).Load(source.Find(root.FS()), list); len(documents) != 1023 {
			b.Fatal(len(documents))
		}
	}
}
