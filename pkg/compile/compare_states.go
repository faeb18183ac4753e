package compile

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/patch/overlay"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/waive"
)

// ComparedUnit is a unit of a cluster in two states of a repository. Objects are nil if a state lacks the unit.
type ComparedUnit struct {
	Cluster, Name string
	// OfTenant reports whether the unit belongs to one tenant. Those that a cluster shares come first.
	OfTenant bool
	// OnlyTenants reports whether no other specs than those of tenants differ.
	OnlyTenants   bool
	Before, After []object.Object
	// Removed are the objects of the state after that patches remove, and by which lines.
	Removed object.Removals
}

// States holds what is known of two states of a repository without their objects.
type States struct {
	Before, After State
	// Specs are those that differ.
	Specs []SpecPair
}

// State is one of two compared states.
type State struct {
	// Plans are those of the clusters, sorted by name.
	Plans []*plan.Cluster
	// List holds what the compiler found.
	List *diag.List
	// Waivers are all of the specs, used or not.
	Waivers []waive.SpecWaiver
	// Proven holds what was proven of each cluster, by name; nil if nothing was, because a rule refuses the state.
	Proven map[string]*ReachAndRights
	// Unreadable reports whether the state does not compile. A state that rules or proofs refuse compiles.
	Unreadable bool
}

// Unreadable reports whether a state does not compile.
func (s *States) Unreadable() bool { return s.Before.Unreadable || s.After.Unreadable }

// CompareStates compiles and proves two states of a repository, and hands over their units side by side, cluster by
// cluster in a stable order, from one goroutine. It hands over nothing if the specs of a state cannot be read. It
// returns the first error of take. Dates that have passed since the state before was merged do not make it unreadable.
func CompareStates(before, after fs.FS, options Options, take func(ComparedUnit) error) (States, error) {
	earlier := options
	earlier.mayLackCluster = true // all of it is new then
	earlier.Progress = nil        // the units of both sides are about the same
	was, is := &comparedState{}, &comparedState{}
	var other sync.WaitGroup
	other.Go(func() { was.planMerged(before, earlier) })
	is.state = planState(after, options)
	other.Wait()
	defer was.patches.endAll()
	defer is.patches.endAll()
	var err error
	var specs []SpecPair
	if was.unreadable || is.unreadable {
		was.waivers.ReportMistakes(was.list, false)
		is.waivers.ReportMistakes(is.list, false)
	} else {
		specs = differingSpecs(was.state, is.state, options.Cluster)
		was.documents, is.documents = nil, nil // the plans have all that objects need
		only := !slices.ContainsFunc(specs, func(p SpecPair) bool { return p.presentSide().ID.Kind != v1alpha1.TenantKind })
		err = zipUnits(was.runUnits(earlier), is.runUnits(options), func(u ComparedUnit) error {
			u.OfTenant, u.OnlyTenants = strings.HasPrefix(u.Name, lower.TenantFolder+"/"), only
			return take(u)
		})
	}
	return States{Before: was.public(), After: is.public(), Specs: specs}, err
}

// comparedState is one of two states while its units are compiled.
type comparedState struct {
	*state
	// today is what was found, if that is not what was found on the day of the merge.
	today  *diag.List
	proven map[string]*ReachAndRights
}

// planMerged plans a state as on the day of its merge, if it can be read only so: a waiver has expired since. Otherwise
// a change that renews the waiver could not be reviewed. What is found is today's.
func (s *comparedState) planMerged(root fs.FS, options Options) {
	s.state = planState(root, options)
	if options.Today == "" || !s.unreadable {
		return
	}
	options.Today = ""
	then := planState(root, options)
	if then.unreadable {
		then.patches.endAll()
		return
	}
	s.patches.endAll()
	s.waivers.ReportMistakes(s.list, false)
	s.state, s.today = then, s.list
}

func (s *comparedState) public() State {
	return State{
		Plans: s.plans, List: cmp.Or(s.today, s.list), Waivers: s.waivers.All(), Proven: s.proven, Unreadable: s.unreadable,
	}
}

// runUnits returns a function that hands over the units of a state. A state that rules refuse has units without proofs.
func (s *comparedState) runUnits(options Options) func(take func(Unit) error) error {
	return func(take func(Unit) error) error {
		if s.list.Errors() > 0 {
			s.waivers.ReportMistakes(s.list, false)
			return s.streamUnproven(options, take)
		}
		s.proven = map[string]*ReachAndRights{}
		return s.stream(options, func(u Unit) error {
			if u.Proven != nil {
				s.proven[u.Cluster] = u.Proven
				return nil
			}
			return take(u)
		})
	}
}

// streamUnproven hands over the objects of a state that rules refuse.
func (s *state) streamUnproven(options Options, take func(Unit) error) error {
	type result struct {
		unit Unit
		list *diag.List
	}
	jobs := s.unitJobs(options)
	return runOrdered(options.Workers, len(jobs), func(i int) result {
		list := &diag.List{}
		objects, effects := jobs[i].patchedObjects(list)
		name := jobs[i].cluster.Name.V
		return result{Unit{Cluster: name, Name: jobs[i].name, Objects: objects, Removed: effects.Removed()}, list}
	}, func(r result) error {
		if r.list.Unreadable() {
			s.unreadable = true
			s.list.AddCopies(r.list.Since(0))
		}
		return take(r.unit)
	})
}

// errStopped ends the other side when take refuses a pair.
var errStopped = errors.New("the comparison has ended")

// zipUnits runs both sides at once and hands over their units in pairs, in the order of compareUnits.
func zipUnits(before, after func(take func(Unit) error) error, take func(ComparedUnit) error) error {
	stop := make(chan struct{})
	was, is := runSide(before, stop), runSide(after, stop)
	var err error
	for err == nil && (was.peek() != nil || is.peek() != nil) {
		order := compareUnits(was.peek(), is.peek())
		var pair ComparedUnit
		if order <= 0 {
			u := was.next()
			pair = ComparedUnit{Cluster: u.Cluster, Name: u.Name, Before: u.Objects, Removed: u.Removed}
		}
		if order >= 0 {
			u := is.next()
			pair.Cluster, pair.Name, pair.After, pair.Removed = u.Cluster, u.Name, u.Objects, u.Removed
		}
		err = take(pair)
	}
	close(stop)
	return cmp.Or(err, was.wait(), is.wait())
}

// unitSide is the units of a side as they come.
type unitSide struct {
	units chan *Unit
	head  *Unit
	err   error
}

func runSide(run func(take func(Unit) error) error, stop chan struct{}) *unitSide {
	s := &unitSide{units: make(chan *Unit)}
	go func() {
		defer close(s.units)
		s.err = run(func(u Unit) error {
			select {
			case s.units <- &u:
				return nil
			case <-stop:
				return errStopped
			}
		})
	}()
	return s
}

// peek returns the next unit, nil at the end.
func (s *unitSide) peek() *Unit {
	if s.head == nil {
		s.head = <-s.units
	}
	return s.head
}

func (s *unitSide) next() *Unit {
	u := s.peek()
	s.head = nil
	return u
}

// wait returns what ended the side, once it has.
func (s *unitSide) wait() error {
	for range s.units { // a unit may be on its way
	}
	if errors.Is(s.err, errStopped) {
		return nil
	}
	return s.err
}

// compareUnits compares units in the order in which a state hands them over; nil comes last.
func compareUnits(a, b *Unit) int {
	switch {
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return cmp.Or(strings.Compare(a.Cluster, b.Cluster), cmp.Compare(rankOf(a), rankOf(b)), strings.Compare(a.Name, b.Name))
}

// rankOf is the order of units in unitJobs.
func rankOf(u *Unit) int {
	switch {
	case u.Name == lower.PlatformFolder:
		return 0
	case u.Name == lower.RuntimeFolder:
		return 1
	case u.Name == lower.PlatformFolder+"/"+overlay.ResourceFile:
		return 3
	case strings.HasPrefix(u.Name, lower.TenantFolder+"/"):
		return 4
	}
	return 2
}
