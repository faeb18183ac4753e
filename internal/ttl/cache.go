// Package ttl keeps values for a while.
package ttl

import (
	"sync"
	"time"
)

// Cache keeps values for a while. The zero value is empty.
type Cache[V any] struct {
	mu      sync.Mutex
	entries map[string]entry[V]
}

type entry[V any] struct {
	value V
	until time.Time
}

// Get returns a value that has not lapsed.
func (l *Cache[V]) Get(key string, now time.Time) (value V, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, known := l.entries[key]
	return found.value, known && now.Before(found.until)
}

// Add keeps a value unless there is one under the key, and reports whether it did. What has lapsed is forgotten.
func (l *Cache[V]) Add(key string, value V, now time.Time, holds time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, old := range l.entries {
		if !now.Before(old.until) {
			delete(l.entries, k)
		}
	}
	if _, known := l.entries[key]; known {
		return false
	}
	if l.entries == nil {
		l.entries = map[string]entry[V]{}
	}
	l.entries[key] = entry[V]{value, now.Add(holds)}
	return true
}

// Len returns how many values are kept.
func (l *Cache[V]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}
