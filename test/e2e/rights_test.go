package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/test/audit"
	"lockstep.dev/lockstep/test/platform"
)

// The controller runs the whole suite with the roles of the chart and the bindings of the compiler. What it asked for, by the
// audit log, is compared with them: as executor when everything has run, as companion when Kubeflow Trainer goes.
var _ = SynchronizedAfterSuite(expectNoneLeft, func(ctx SpecContext) {
	if cluster != nil {
		asExecutor.cut(ctx)
		expectExactRights(ctx, asExecutor)
	}
})

// unshown is a file with the specs that failed or were skipped after a failure, in any process: they may have been those that show a right.
var unshown string

// unshownFile makes it.
func unshownFile() string {
	GinkgoHelper()
	file, err := os.CreateTemp("", "lockstep-e2e-unshown-")
	Expect(err).NotTo(HaveOccurred())
	Expect(file.Close()).To(Succeed())
	DeferCleanup(os.Remove, file.Name())
	return file.Name()
}

var _ = ReportAfterEach(func(spec SpecReport) {
	if unshown == "" || !spec.Failed() && !spec.State.Is(types.SpecStateSkipped) {
		return
	}
	Expect(appendTo(unshown, fmt.Sprintf("%q\n", spec.FullText()))).To(Succeed())
})

// asExecutor is the part of the log in which the controller runs jobs itself.
var asExecutor = &stretch{role: "executor", unseen: map[string]string{
	"ClusterRole mpi-controller-jobs: update trainjobs/finalizers.trainer.kubeflow.org": ownerReferences,
	"ClusterRole mpi-controller-jobs: get podgroups.scheduling.volcano.sh":              noVolcano,
	"ClusterRole mpi-controller-jobs: create podgroups.scheduling.volcano.sh":           noVolcano,
	"ClusterRole mpi-controller-jobs: delete podgroups.scheduling.volcano.sh":           noVolcano,
	"ClusterRole mpi-controller-jobs: delete podgroups.scheduling.x-k8s.io":             collectorFirst,
	"ClusterRole mpi-controller-jobs: delete trainjobs.trainer.kubeflow.org":            neverOld,
	"ClusterRole mpi-controller-jobs: delete configmaps.":                               collectorFirst,
	"ClusterRole mpi-controller-jobs: delete networkpolicies.networking.k8s.io":         collectorFirst,
	"Role mpi-controller: create events.":                                               "an executor says so when it waits because Kubeflow Trainer runs",
}}

// asCompanion is the part in which it stands beside Kubeflow Trainer.
var asCompanion = &stretch{role: "companion", unseen: map[string]string{
	"ClusterRole mpi-controller-jobs: delete trainjobs.trainer.kubeflow.org":            neverOld,
	"ClusterRole mpi-controller-jobs: update trainjobs/finalizers.trainer.kubeflow.org": ownerReferences,
	"ClusterRole mpi-controller: create tokenreviews.authentication.k8s.io":             onlyWhoMeasures,
	"ClusterRole mpi-controller: create subjectaccessreviews.authorization.k8s.io":      onlyWhoMeasures,
	"ClusterRole mpi-controller-jobs: list events.":                                     "only where pods do not come there may be a reason to read",
	"Role mpi-controller: create leases.coordination.k8s.io":                            "the lease of the executor is there",
	"Role mpi-controller: delete secrets.":                                              "a certificate holds for months",
}}

// Why no test on a cluster shows a right. Those on an API server alone do, test/integration.
const (
	ownerReferences = "admission asks whether the controller has it when an owner reference blocks deletion"
	noVolcano       = "there is no Volcano"
	neverOld        = "no tenant here has jobs deleted that finished long ago"
	onlyWhoMeasures = "the controller asks only where somebody reads its metrics"
	collectorFirst  = "what an earlier job of the name left, where the garbage collector has not been there yet"
)

// stretch is what the controller asked for while it had one role.
type stretch struct {
	role    string
	begin   int
	entries []audit.Entry
	// unseen are rights that no test on a cluster shows, and why they are needed.
	unseen map[string]string
}

// cut ends the stretch, until resume.
func (s *stretch) cut(ctx context.Context) {
	GinkgoHelper()
	s.entries = append(s.entries, requests(ctx)[s.begin:]...)
}

func (s *stretch) resume(ctx context.Context) {
	GinkgoHelper()
	s.begin = len(requests(ctx))
}

// requests are all that the controller asked of the API server, none where there is no audit log.
func requests(ctx context.Context) []audit.Entry {
	GinkgoHelper()
	entries, err := cluster.Requests(ctx)
	if errors.Is(err, platform.ErrNoAuditLog) {
		return nil
	}
	Expect(err).NotTo(HaveOccurred())
	return entries
}

// useCompanion puts the controller beside Kubeflow Trainer until the end of a container, and then looks at what it asked for.
func useCompanion(ctx SpecContext) {
	asExecutor.cut(ctx)
	asCompanion.resume(ctx)
	undo, err := cluster.UseCompanion(ctx)
	DeferCleanup(func(ctx SpecContext) {
		Expect(undo(ctx)).To(Succeed())
		asExecutor.resume(ctx)
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		asCompanion.cut(ctx)
		expectExactRights(ctx, asCompanion)
	})
}

// expectExactRights compares the requests of a stretch with the roles that are bound now: nothing was refused and, where the
// whole suite has run, nothing is granted that was not used.
func expectExactRights(ctx context.Context, s *stretch) {
	GinkgoHelper()
	if len(s.entries) == 0 {
		fmt.Fprintf(GinkgoWriter, "rights of the %s: not compared, because this cluster has no audit log of the controller\n", s.role)
		return
	}
	compared := audit.Compare(s.entries, grants(ctx))
	Expect(compared.Refused).To(BeEmpty(), "the %s lacks rights", s.role)
	if why := partial(); why != "" {
		fmt.Fprintf(lines, "rights of the %s: nothing was refused; unused rights were not looked for, because %s\n", s.role, why)
		return
	}
	unused := slices.DeleteFunc(compared.Unused, func(right string) bool { return s.unseen[right] != "" })
	Expect(unused).To(BeEmpty(), "nobody uses these rights of the %s", s.role)
}

// partial says why not everything has run, or nothing.
func partial() string {
	GinkgoHelper()
	config, _ := GinkgoConfiguration()
	switch {
	case len(config.FocusStrings)+len(config.SkipStrings)+len(config.FocusFiles)+len(config.SkipFiles) > 0,
		config.LabelFilter != "" && config.LabelFilter != "!"+ofReleases[0]: // which need no other rights
		return "only a part of the suite was asked for"
	case !cluster.Started():
		return "the cluster was up before"
	}
	missed, err := os.ReadFile(unshown)
	Expect(err).NotTo(HaveOccurred())
	if first, _, found := strings.Cut(string(missed), "\n"); found {
		return first + " failed or was skipped"
	}
	return ""
}

// grants are the roles that are bound to the controller, where they hold.
func grants(ctx context.Context) []audit.Grant {
	GinkgoHelper()
	var grants []audit.Grant
	everywhere := &rbacv1.ClusterRoleBindingList{}
	Expect(admin.Client.List(ctx, everywhere)).To(Succeed())
	for _, b := range everywhere.Items {
		if bindsController(b.Subjects) {
			grants = append(grants, grant(ctx, b.RoleRef, ""))
		}
	}
	some := &rbacv1.RoleBindingList{}
	Expect(admin.Client.List(ctx, some)).To(Succeed())
	for _, b := range some.Items {
		if bindsController(b.Subjects) {
			grants = append(grants, grant(ctx, b.RoleRef, b.Namespace))
		}
	}
	return grants
}

func bindsController(subjects []rbacv1.Subject) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.ServiceAccountKind && s.Namespace == platform.Namespace && s.Name == mpi.ControllerName
	})
}

func grant(ctx context.Context, ref rbacv1.RoleRef, namespace string) audit.Grant {
	GinkgoHelper()
	g := audit.Grant{Role: ref.Kind + " " + ref.Name, Namespace: namespace}
	if ref.Kind == "ClusterRole" {
		role := &rbacv1.ClusterRole{}
		Expect(admin.Client.Get(ctx, client.ObjectKey{Name: ref.Name}, role)).To(Succeed())
		g.Rules = role.Rules
	} else {
		role := &rbacv1.Role{}
		Expect(admin.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, role)).To(Succeed())
		g.Rules = role.Rules
	}
	return g
}
