package proc

import "slices"

// Tree is processes by their numbers.
type Tree map[int]Process

// TreeOf returns the tree of some processes.
func TreeOf(processes []Process) Tree {
	t := make(Tree, len(processes))
	for _, p := range processes {
		t[p.PID] = p
	}
	return t
}

// TopmostAncestor returns the number of the process without a parent in the tree that a process descends from, or is.
func (t Tree) TopmostAncestor(p Process) int {
	for range t {
		parent, known := t[p.Parent]
		if !known {
			break
		}
		p = parent
	}
	return p.PID
}

// HasAncestor reports whether a process descends from one of a kind.
func (t Tree) HasAncestor(p Process, kind func(Process) bool) bool {
	for range t {
		parent, known := t[p.Parent]
		if !known || kind(parent) {
			return known
		}
		p = parent
	}
	return false
}

// LiveProcesses returns the processes that have not ended.
func LiveProcesses(processes []Process) []Process {
	return slices.DeleteFunc(processes, func(p Process) bool { return p.State == 'Z' })
}
