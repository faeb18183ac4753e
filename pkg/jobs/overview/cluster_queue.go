package overview

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// ClusterQueue is a queue of Kueue with its shares.
type ClusterQueue struct {
	Name   string `json:"name"`
	Cohort string `json:"cohort,omitempty"`
	// Pending is how many Workloads wait, Admitted how many have their room; some may be for other objects than jobs.
	Pending  int64        `json:"pending"`
	Admitted int64        `json:"admitted"`
	Shares   []QueueShare `json:"shares"`
}

// QueueShare counts a resource of a kind of machine in a queue. Amounts are written as Kubernetes writes them.
type QueueShare struct {
	Profile  string `json:"profile"`
	Resource string `json:"resource"`
	// Guaranteed is the queue's own, Used what its jobs have, Borrowed how much of that belongs to other queues.
	Guaranteed string `json:"guaranteed"`
	Used       string `json:"used"`
	Borrowed   string `json:"borrowed"`
	// Lent is how much of the guaranteed amount other queues of the cohort may have borrowed. Kueue names no lender: each
	// of several queues with idle machines shows the loan.
	Lent string `json:"lent"`
}

// queueFields are the fields of a ClusterQueue that are read (sigs.k8s.io/kueue apis/kueue/v1beta2).
type queueFields struct {
	Spec struct {
		CohortName     string `json:"cohortName"`
		ResourceGroups []struct {
			Flavors []struct {
				Name      string       `json:"name"`
				Resources []quotaField `json:"resources"`
			} `json:"flavors"`
		} `json:"resourceGroups"`
	} `json:"spec"`
	Status struct {
		PendingWorkloads   int64 `json:"pendingWorkloads"`
		AdmittedWorkloads  int64 `json:"admittedWorkloads"`
		FlavorsReservation []struct {
			Name      string     `json:"name"`
			Resources []useField `json:"resources"`
		} `json:"flavorsReservation"`
	} `json:"status"`
}

type quotaField struct {
	Name         string             `json:"name"`
	NominalQuota resource.Quantity  `json:"nominalQuota"`
	LendingLimit *resource.Quantity `json:"lendingLimit"`
}

type useField struct {
	Name     string            `json:"name"`
	Total    resource.Quantity `json:"total"`
	Borrowed resource.Quantity `json:"borrowed"`
}

// loanKey names what the queues of a cohort lend each other.
type loanKey struct{ cohort, profile, resource string }

// clusterQueues reads queues, by their names. What cannot be read is left out.
func clusterQueues(objects []unstructured.Unstructured) []ClusterQueue {
	read := make([]queueFields, len(objects))
	loans := map[loanKey]resource.Quantity{}
	for i := range objects {
		if runtime.DefaultUnstructuredConverter.FromUnstructured(objects[i].Object, &read[i]) != nil {
			read[i] = queueFields{}
		}
		for _, flavor := range read[i].Status.FlavorsReservation {
			for _, r := range flavor.Resources {
				key := loanKey{read[i].Spec.CohortName, flavor.Name, r.Name}
				sum := loans[key]
				sum.Add(r.Borrowed)
				loans[key] = sum
			}
		}
	}
	queues := []ClusterQueue{}
	for i := range objects {
		queues = append(queues, ClusterQueue{
			Name: objects[i].GetName(), Cohort: read[i].Spec.CohortName, Pending: read[i].Status.PendingWorkloads,
			Admitted: read[i].Status.AdmittedWorkloads, Shares: read[i].shares(loans),
		})
	}
	slices.SortFunc(queues, func(a, b ClusterQueue) int { return cmp.Compare(a.Name, b.Name) })
	return queues
}

func (f *queueFields) shares(loans map[loanKey]resource.Quantity) []QueueShare {
	uses := map[loanKey]useField{}
	for _, flavor := range f.Status.FlavorsReservation {
		for _, r := range flavor.Resources {
			uses[loanKey{f.Spec.CohortName, flavor.Name, r.Name}] = r
		}
	}
	shares := []QueueShare{}
	for _, group := range f.Spec.ResourceGroups {
		for _, flavor := range group.Flavors {
			for _, quota := range flavor.Resources {
				key := loanKey{f.Spec.CohortName, flavor.Name, quota.Name}
				use := uses[key]
				shares = append(shares, QueueShare{
					Profile: flavor.Name, Resource: quota.Name, Guaranteed: quota.NominalQuota.String(),
					Used: use.Total.String(), Borrowed: use.Borrowed.String(), Lent: lentOf(quota, use, loans[key], key.cohort),
				})
			}
		}
	}
	return shares
}

// lentOf returns the smaller of what a queue leaves idle and may lend, and what its cohort has borrowed.
func lentOf(quota quotaField, use useField, loans resource.Quantity, cohort string) string {
	idle := quota.NominalQuota.DeepCopy()
	idle.Sub(use.Total)
	for _, bound := range []*resource.Quantity{quota.LendingLimit, &loans} {
		if bound != nil && bound.Cmp(idle) < 0 {
			idle = *bound
		}
	}
	if cohort == "" || idle.Sign() <= 0 {
		return "0"
	}
	return idle.String()
}
