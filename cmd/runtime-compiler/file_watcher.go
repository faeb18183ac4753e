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
const debounce = 20 * time.Millisecond

// linger is for how long a spec may be gone or empty before that is what somebody wants: programs that save in several steps, and
// those that bring files from elsewhere, leave such moments, in which the output of a tenant must not be removed.
const linger = 2 * time.Second

// outputCheckInterval is how often the output is looked at while no spec changes. It has thousands of files, which takes some milliseconds.
const outputCheckInterval = 5 * time.Second

// pollInterval is how often files are looked at where the system does not tell of changes.
const pollInterval = time.Second

// fileWatcher waits for changes of files below a folder.
type fileWatcher struct {
	root     string
	events   *fsnotify.Watcher
	followed map[string]bool
}

// newFileWatcher returns a watcher that is told of changes as they happen, or that polls if there is an error.
func newFileWatcher(root string) (*fileWatcher, error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		events = nil
	}
	return &fileWatcher{root: root, events: events, followed: map[string]bool{}}, err
}

func (c *fileWatcher) close() {
	if c.events != nil {
		// Nobody waits any more.
		_ = c.events.Close()
	}
}

// followFolders watches the folders of inputs, existing or missed. Where one cannot be watched, files are looked at from now on.
func (c *fileWatcher) followFolders(inputs []incremental.Input) {
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
		wanted[c.nearestExistingFolder(folder)] = true
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

// nearestExistingFolder returns the folder, or the first one above it that exists.
func (c *fileWatcher) nearestExistingFolder(folder string) string {
	for folder != "." {
		if info, err := os.Stat(filepath.Join(c.root, folder)); err == nil && info.IsDir() {
			return folder
		}
		folder = path.Dir(folder)
	}
	return folder
}

// watchTarget is what changes mean to whoever waits for them.
type watchTarget interface {
	// relevant reports whether a change of a file can matter.
	isRelevant(name string) bool
	// removedInputs reports whether one of some files is missing, or empty, that was not; any file for none.
	removedInputs(names map[string]bool) bool
	// outputIntact looks whether the output is as it was left.
	outputIntact() bool
}

// waitForChange waits until files have changed that are relevant, and there is quiet again, and nothing is gone that was there, or that for longer
// than linger; or until the output is not intact. It returns one of the files, or false at the end. Found is a change that is known
// already, or "".
func (c *fileWatcher) waitForChange(ctx context.Context, found string, target watchTarget) (string, bool) {
	if c.events == nil {
		return c.waitPolling(ctx, target)
	}
	looks := time.NewTicker(outputCheckInterval)
	defer looks.Stop()
	touched := map[string]bool{}
	var debounced <-chan time.Time
	var missing time.Time
	if found != "" {
		debounced = time.After(debounce)
	}
	for {
		select {
		case <-ctx.Done():
			return "", false
		case <-looks.C:
			if found == "" && !target.outputIntact() {
				return outputs, true
			}
		case <-debounced:
			switch {
			case !target.removedInputs(touched) || !missing.IsZero() && time.Since(missing) >= linger:
				return found, true
			case missing.IsZero():
				missing = time.Now()
			}
			debounced = time.After(debounce)
		case event := <-c.events.Events:
			if name := c.fileOfEvent(event); event.Op != fsnotify.Chmod && name != "" && target.isRelevant(name) {
				found, touched[name], debounced = name, true, time.After(debounce)
			}
		case <-c.events.Errors: //nolint:errcheck // whatever it is, events were lost
			found, debounced = "many files", time.After(debounce)
		}
	}
}

// fileOfEvent returns the file that an event is about, or "", and follows a folder that was made again.
func (c *fileWatcher) fileOfEvent(event fsnotify.Event) string {
	name := repositoryPath(c.root, event.Name)
	if event.Has(fsnotify.Create) && c.followed[name] {
		// It fails where it is gone already.
		_ = c.events.Add(event.Name)
	}
	return name
}

// waitPolling looks once, and again until linger is over where something is gone.
func (c *fileWatcher) waitPolling(ctx context.Context, target watchTarget) (string, bool) {
	why, more := c.waitPollInterval(ctx)
	for since := time.Now(); more && target.removedInputs(nil) && time.Since(since) < linger; {
		why, more = c.waitPollInterval(ctx)
	}
	if more && !target.outputIntact() {
		why = outputs
	}
	return why, more
}

func (c *fileWatcher) waitPollInterval(ctx context.Context) (string, bool) {
	select {
	case <-ctx.Done():
		return "", false
	case <-time.After(pollInterval):
		return pollTick, true
	}
}

// outputs is the reason of a build that puts the output right.
const outputs = "files of the output folder"

// pollTick is the reason of a build that may find that nothing changed.
const pollTick = "looked"
