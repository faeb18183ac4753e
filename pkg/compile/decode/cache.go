package decode

import (
	"bytes"
	"sync"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// Cache is what files gave in one state of a repository, for another state of it: a file that is the same in both is decoded once, and
// its documents are the same ones. The zero Cache is empty and ready.
type Cache struct {
	mu    sync.Mutex
	files map[string]cachedFile
}

type cachedFile struct {
	file  *source.File
	batch fileResult
}

// get returns what a file gave, if it was the same then.
func (k *Cache) get(file *source.File) (fileResult, bool) {
	if k == nil || file.Err != nil {
		return fileResult{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.files[file.Path]
	if !ok || !bytes.Equal(found.file.Data, file.Data) {
		return fileResult{}, false
	}
	return found.batch, true
}

// put remembers what a file gave. Nobody changes it.
func (k *Cache) put(file *source.File, gave fileResult) {
	if k == nil || file.Err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.files == nil {
		k.files = map[string]cachedFile{}
	}
	k.files[file.Path] = cachedFile{file: file, batch: gave}
}
