package rule

// Consequence is what a change does to the cluster and to those who work there. The list is closed; a name is never given another
// meaning.
type Consequence string

// The consequences.
const (
	// NoEffect is a change of what is written only: order, spelling, defaults, or changes that cancel each other.
	NoEffect Consequence = "no-effect"

	// NewJobsOnly is something that jobs get which are created afterwards. Running ones keep what they started with, because
	// Trainer works with a snapshot of the runtime.
	NewJobsOnly Consequence = "new-jobs-only"

	// RestartsNothing acts at once, and stops and restarts nothing: what people read, what is measured.
	RestartsNothing Consequence = "restarts-nothing"

	// RestartsPlatform replaces pods of the platform, such as the controller's. Jobs go on; new ones wait a moment.
	RestartsPlatform Consequence = "restarts-platform"

	// OpensNetwork is traffic that was refused and is allowed, for running pods too.
	OpensNetwork Consequence = "opens-network"

	// ClosesNetwork is traffic that was allowed and is refused, for running pods too.
	ClosesNetwork Consequence = "closes-network"

	// WidensAccess is a subject who may do more.
	WidensAccess Consequence = "widens-access"

	// NarrowsAccess is a subject who may do less.
	NarrowsAccess Consequence = "narrows-access"

	// WidensSecurity is pods that may have more rights on their machine.
	WidensSecurity Consequence = "widens-security"

	// NarrowsSecurity is pods that may have fewer rights on their machine. Running ones go on, their replacements may be refused.
	NarrowsSecurity Consequence = "narrows-security"

	// AdmitsMore is what the API server refused and now accepts.
	AdmitsMore Consequence = "admits-more"

	// AdmitsLess is what the API server accepted and now refuses.
	AdmitsLess Consequence = "admits-less"

	// GrowsQuota is a tenant or a cohort that gets more machines, pods, jobs or storage.
	GrowsQuota Consequence = "grows-quota"

	// ShrinksQuota is a tenant or a cohort that gets less.
	ShrinksQuota Consequence = "shrinks-quota"

	// ReordersQueue changes who goes first: priorities, preemption.
	ReordersQueue Consequence = "reorders-queue"

	// DeletesData is data that is lost for good.
	DeletesData Consequence = "deletes-data"

	// GrowsStorage is a volume that becomes larger.
	GrowsStorage Consequence = "grows-storage"

	// AddsObjects is objects that are new on the cluster.
	AddsObjects Consequence = "adds-objects"

	// DeletesObjects is objects that the GitOps engine deletes from the cluster.
	DeletesObjects Consequence = "deletes-objects"

	// LeavesObjects is objects that are no longer compiled and stay on the cluster until a person deletes them.
	LeavesObjects Consequence = "leaves-objects"

	// Renames is objects that go and come again under another name.
	Renames Consequence = "renames"

	// ImmutableField is a change that the API server refuses: the object must be deleted first.
	ImmutableField Consequence = "immutable-field"

	// ChangesSync changes what the GitOps engine applies, from where, or in which order.
	ChangesSync Consequence = "changes-sync"

	// WeakensEncryption is traffic between machines that is no longer encrypted, or need not be.
	WeakensEncryption Consequence = "weakens-encryption"

	// WeakensChecks is a check of the compiler that holds no longer.
	WeakensChecks Consequence = "weakens-checks"

	// SpecsOnly is what specs say and no object has: the checks may judge by it.
	SpecsOnly Consequence = "specs-only"

	// Unclassified is a change that no rule understands. A reviewer should read it.
	Unclassified Consequence = "unclassified"
)

// meanings has a sentence for each consequence, in the order in which they are listed.
var meanings = []struct {
	consequence Consequence
	meaning     string
}{
	{DeletesData, "Data is lost for good."},
	{OpensNetwork, "Traffic that was refused is allowed, for running pods too."},
	{ClosesNetwork, "Traffic that was allowed is refused, for running pods too."},
	{WeakensEncryption, "Traffic between machines is no longer encrypted, or need not be."},
	{WeakensChecks, "A check of the compiler is switched off, or looks at less: what it refused is accepted from now on."},
	{WidensAccess, "A user or a program may do more."},
	{NarrowsAccess, "A user or a program may do less."},
	{WidensSecurity, "Pods may have more rights on their machine."},
	{NarrowsSecurity, "Pods may have fewer rights on their machine: running ones go on, their replacements may be refused."},
	{AdmitsMore, "The API server accepts what it refused before."},
	{AdmitsLess, "The API server refuses what it accepted before."},
	{DeletesObjects, "The GitOps engine deletes objects from the cluster."},
	{LeavesObjects, "Objects are no longer compiled and stay on the cluster until somebody deletes them."},
	{ShrinksQuota, "A tenant or a cohort gets fewer machines, pods, jobs or less storage."},
	{GrowsQuota, "A tenant or a cohort gets more machines, pods, jobs or storage."},
	{ReordersQueue, "Other jobs go first."},
	{Renames, "Objects go and come again under another name."},
	{ImmutableField, "The API server refuses the change of an object that exists: it must be deleted first."},
	{ChangesSync, "The GitOps engine applies other things, from another place, or in another order."},
	{RestartsPlatform, "Pods of the platform are replaced. Jobs go on."},
	{AddsObjects, "Objects are new on the cluster."},
	{GrowsStorage, "A volume becomes larger."},
	{NewJobsOnly, "Jobs that are created afterwards get it; running ones keep what they started with."},
	{RestartsNothing, "It acts at once, and stops and restarts nothing."},
	{Unclassified, "No rule understands the change: somebody should read it."},
	{SpecsOnly, "Only the specs say it: no object changes, and the checks may judge by it."},
	{NoEffect, "Only what is written changes, not what it means."},
}

// Consequences returns all, the most severe first.
func Consequences() []Consequence {
	list := make([]Consequence, len(meanings))
	for i, m := range meanings {
		list[i] = m.consequence
	}
	return list
}

// Meaning is a sentence about the consequence.
func (c Consequence) Meaning() string {
	for _, m := range meanings {
		if m.consequence == c {
			return m.meaning
		}
	}
	return ""
}

// Rank orders consequences of one severity.
func (c Consequence) Rank() int {
	for i, m := range meanings {
		if m.consequence == c {
			return i
		}
	}
	return len(meanings)
}
