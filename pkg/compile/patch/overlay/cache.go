package overlay

import (
	"sync"
	"weak"

	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
)

// Cache is what overlays made of specs in one state of a repository, for another state of it: where the overlay and the document are
// the same, the patched document is made once and is the same one in both, as long as somebody has it: a large repository has more of
// them than may be kept. The zero Cache is empty and ready. It is safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	specs map[cacheKey]*cachedSpec
}

// cacheKey is an overlay, by the hash of its content, and a document.
type cacheKey struct {
	overlay  string
	document *decode.Document
}

// cachedSpec is what became of a document, and what steps did to it. What finds something does not count: findings are told to everybody.
type cachedSpec struct {
	sync.Once
	document weak.Pointer[decode.Document]
	effects  Effects
	clean    bool
}

func (k *Cache) cachedSpecOf(o *Overlay, document *decode.Document) *cachedSpec {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := cacheKey{overlay: o.content, document: document}
	if k.specs == nil {
		k.specs = map[cacheKey]*cachedSpec{}
	}
	if k.specs[key] == nil {
		k.specs[key] = &cachedSpec{}
	}
	return k.specs[key]
}

// patchedSpec returns what an overlay makes of a document.
func (k *Cache) patchedSpec(o *Overlay, document *decode.Document, last *lastFile, effects Effects, list *diag.List) *decode.Document {
	if k == nil || o.HasPrograms() {
		return o.patchSpec(document, last, effects, list)
	}
	done := k.cachedSpecOf(o, document)
	var made *decode.Document
	done.Do(func() {
		found := &diag.List{}
		done.effects = make(Effects, len(o.specs))
		made = o.patchSpec(document, last, done.effects, found)
		done.document, done.clean = weak.Make(made), found.Len() == 0
	})
	if made == nil {
		made = done.document.Value()
	}
	if made == nil || !done.clean {
		return o.patchSpec(document, last, effects, list)
	}
	effects.Join(done.effects)
	return made
}
