package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"lockstep.dev/lockstep/pkg/compile/incremental"
)

// An editor that saves makes several changes. They count as one if there is quiet after them for so long.
const quiet = 20 * time.Millisecond

// pollEvery is how often files are looked at where the system does not tell of changes.
const pollEvery = time.Second

// changes waits for changes of files below a folder.
type changes struct {
	root     string
	events   *fsnotify.Watcher
	followed map[string]bool
}

// newChanges returns changes that are noticed as they happen, or by looking if there is an error.
func newChanges(root string) (*changes, error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		events = nil
	}
	return &changes{root: root, events: events, followed: map[string]bool{}}, err
}

func (c *changes) close() {
	if c.events != nil {
		// Nobody waits any more.
		_ = c.events.Close()
	}
}

// follow watches the folders of inputs, existing or missed. Where one cannot be watched, files are looked at from now on.
func (c *changes) follow(inputs []incremental.Input) {
	if c.events == nil {
		return
	}
	wanted, parents := map[string]bool{}, map[string]bool{}
	for i := range inputs {
		parents[path.Dir(inputs[i].Path)] = true
		if inputs[i].Kind == incremental.Folder {
			wanted[inputs[i].Path] = true
		}
	}
	for folder := range parents {
		wanted[c.existing(folder)] = true
	}
	for folder := range c.followed {
		if !wanted[folder] {
			// It fails where the folder is gone, and its watch with it.
			_ = c.events.Remove(filepath.Join(c.root, folder))
			delete(c.followed, folder)
		}
	}
	for folder := range wanted {
		if err := c.events.Add(filepath.Join(c.root, folder)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.close()
			c.events = nil
			return
		}
		c.followed[folder] = true
	}
}

// existing returns the folder, or the first one above it that exists.
func (c *changes) existing(folder string) string {
	for folder != "." {
		if info, err := os.Stat(filepath.Join(c.root, folder)); err == nil && info.IsDir() {
			return folder
		}
		folder = path.Dir(folder)
	}
	return folder
}

// next waits until files have changed that are relevant, and there is quiet again. It returns one of them, or false at the end.
func (c *changes) next(ctx context.Context, relevant func(name string) bool) (string, bool) {
	if c.events == nil {
		return c.poll(ctx)
	}
	found := ""
	var calm <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return "", false
		case <-calm:
			return found, true
		case event := <-c.events.Events:
			name := slashed(c.root, event.Name)
			if event.Has(fsnotify.Create) && c.followed[name] {
				// Another folder of that name. It fails where it is gone already.
				_ = c.events.Add(event.Name)
			}
			if event.Op != fsnotify.Chmod && name != "" && relevant(name) {
				found, calm = name, time.After(quiet)
			}
		case <-c.events.Errors: //nolint:errcheck // whatever it is, events were lost
			found, calm = "many files", time.After(quiet)
		}
	}
}

func (c *changes) poll(ctx context.Context) (string, bool) {
	select {
	case <-ctx.Done():
		return "", false
	case <-time.After(pollEvery):
		return polled, true
	}
}

// polled is the reason of a build that may find that nothing changed.
const polled = "looked"
