package store

import "sync"

// cacheLimit bounds a cache; one that is full starts anew.
const cacheLimit = 1024

// cache remembers what never changes in the database. Losing an entry costs a
// query, nothing else.
type cache[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]V
}

func newCache[K comparable, V any]() *cache[K, V] {
	return &cache[K, V]{entries: map[K]V{}}
}

func (c *cache[K, V]) get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	value, ok := c.entries[key]
	return value, ok
}

func (c *cache[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= cacheLimit {
		clear(c.entries)
	}
	c.entries[key] = value
}
