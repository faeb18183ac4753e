package reconciler

import (
	"sync"
	"time"
)

// ttlCache keeps values for a while. The zero value is empty.
type ttlCache[V any] struct {
	mu      sync.Mutex
	entries map[string]ttlEntry[V]
}

type ttlEntry[V any] struct {
	value V
	until time.Time
}

func (l *ttlCache[V]) get(key string, now time.Time) (value V, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry, known := l.entries[key]
	return entry.value, known && now.Before(entry.until)
}

// add keeps a value unless there is one under the key, and reports whether it did. What has lapsed is forgotten.
func (l *ttlCache[V]) add(key string, value V, now time.Time, holds time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, entry := range l.entries {
		if !now.Before(entry.until) {
			delete(l.entries, k)
		}
	}
	if _, known := l.entries[key]; known {
		return false
	}
	if l.entries == nil {
		l.entries = map[string]ttlEntry[V]{}
	}
	l.entries[key] = ttlEntry[V]{value, now.Add(holds)}
	return true
}
