package main

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/emit/disk"
	"lockstep.dev/lockstep/pkg/compile/incremental"
)

// fewTenants is how many changed specs of tenants are compiled on their own.
const fewTenants = 20

// little builds what changed since the last build. There is no list if everything must be compiled.
func (b *builder) little(began int64) ([]clusterSummary, *diag.List, error) {
	changed, reread := b.last.Changed(b.memory)
	if len(changed) > fewTenants || slices.ContainsFunc(changed, notTenant) {
		return nil, nil, nil
	}
	intact, compared := b.untouched()
	list := found(b.last)
	if !intact || b.reports.verdict(list) != nil && len(changed) > 0 {
		return nil, nil, nil
	}
	if len(changed) > 0 {
		return b.tenants(changed, list, began)
	}
	if reread || compared {
		b.last.Began, b.last.Ended = began, began
		b.save()
	}
	return b.summaries(list), list, nil
}

// untouched says whether the output is as the last build has left it, and whether that was hard to say.
func (b *builder) untouched() (intact, compared bool) {
	switch {
	case b.damaged:
		return false, false
	case b.watching:
		return true, false
	}
	return b.inspect()
}

// inspect looks at the whole output.
func (b *builder) inspect() (intact, compared bool) {
	if disk.Interrupted(b.reports.out) {
		return false, false
	}
	tree := look(b.reports.out)
	defer tree.close()
	return b.last.Intact(tree)
}

func notTenant(input *incremental.Input) bool {
	return input.Kind != incremental.File || !strings.HasPrefix(input.Path, compile.TenantFolder) || filepath.Ext(input.Path) == ".jsonnet"
}

// found returns what the last build has found: warnings.
func found(last *incremental.Memory) *diag.List {
	list := &diag.List{}
	for _, d := range last.Findings {
		*list.Warnf(d.Code, d.Span, "") = *d
	}
	return list
}

// summaries counts what there is of the last build, and the files that this one wrote.
func (b *builder) summaries(list *diag.List) []clusterSummary {
	var summaries []clusterSummary
	for _, c := range b.last.Clusters {
		s := clusterSummary{Name: c.Name, Objects: c.Objects}
		if b.reports.verdict(list) == nil {
			for _, name := range b.written {
				if strings.HasPrefix(name, c.Name+"/") {
					s.Written++
				}
			}
			s.Unchanged = c.Files - s.Written
		}
		summaries = append(summaries, s)
	}
	return summaries
}

// tenants compiles changed tenants without the others, if that is possible.
func (b *builder) tenants(changed []*incremental.Input, list *diag.List, began int64) ([]clusterSummary, *diag.List, error) {
	before, after := map[string]string{}, map[string]string{}
	now := make([]incremental.Input, len(changed))
	for i, input := range changed {
		var err error
		if now[i], err = b.memory.read(input.Path); err != nil {
			return nil, nil, nil //nolint:nilerr // compiling everything reports it
		}
		before[input.Path], after[input.Path] = input.Content, now[i].Content
	}
	if b.again == nil {
		b.again = compile.NewAgain(b.root.FS(), b.options)
	}
	units, alone := b.again.Tenants(before, after, compile.Last{Findings: b.last.Findings, Made: b.last.Made})
	if !alone {
		return nil, nil, nil
	}
	if err := b.replace(units); err != nil {
		return nil, nil, err
	}
	for i, input := range changed {
		*input = now[i]
	}
	b.last.Began = began
	if !b.watching {
		b.save()
	}
	return b.summaries(list), list, nil
}

// replace brings units into the output folder, whose other files are right, and remembers them.
func (b *builder) replace(units []compile.Unit) error {
	var files []emit.File
	for _, u := range units {
		files = append(files, slices.DeleteFunc(u.Files, b.last.Made)...)
	}
	if len(files) == 0 {
		return nil
	}
	dir, err := disk.Open(b.reports.out)
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, file := range files {
		if err := dir.Stage(file.Path, file.Data); err != nil {
			return err
		}
		b.written = append(b.written, file.Path)
	}
	slices.Sort(b.written)
	if err := dir.Commit(nil, len(b.last.Outputs)-len(files)); err != nil {
		return err
	}
	b.last.Ended = time.Now().UnixNano()
	for _, file := range files {
		b.last.Output(file.Path).Sum = incremental.Sum(file.Data)
	}
	return b.restamp(dir.Replaced())
}

// restamp looks at what was written, or at all files.
func (b *builder) restamp(all bool) error {
	tree := look(b.reports.out)
	defer tree.close()
	for i := range b.last.Outputs {
		output := &b.last.Outputs[i]
		if _, written := slices.BinarySearch(b.written, output.Path); !all && !written {
			continue
		}
		stamp, err := tree.Stamp(output.Path)
		if err != nil {
			return err
		}
		if stamp != incremental.Absent { // somebody has removed it, which the next look notices by its old stamp
			output.Stamp = stamp
		}
	}
	return nil
}
