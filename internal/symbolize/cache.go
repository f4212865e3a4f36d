package symbolize

import (
	"maps"
	"sync"

	"github.com/mpitrace/mpitrace/profile"
)

// Cache finds the names of the call sites of several containers, and looks for each place
// once. Several goroutines may use it.
type Cache struct {
	mutex sync.Mutex
	found profile.Symbols // without a name if there is none
}

// NewCache returns a Cache that knows some names.
func NewCache(known profile.Symbols) *Cache {
	c := &Cache{found: maps.Clone(known)}
	if c.found == nil {
		c.found = profile.Symbols{}
	}
	return c
}

// Container returns a CachedSites for one container.
func (c *Cache) Container() *CachedSites { return &CachedSites{cache: c} }

// CachedSites finds the names of the call sites of the profiles that are added.
type CachedSites struct {
	cache *Cache
	sites Sites
}

// Add adds the call sites of a profile.
func (c *CachedSites) Add(p *profile.Profile) { c.sites.Add(p, p.Start) }

// Names returns the names that were found. A reader of the container looks for the other names
// again, and reports why there is none.
func (c *CachedSites) Names() profile.Symbols {
	c.cache.mutex.Lock()
	defer c.cache.mutex.Unlock()
	all, _ := c.sites.Symbols(c.cache.found)
	names := profile.Symbols{}
	for place := range c.sites.Places() {
		if name := all[place]; name.Function != "" || name.Line > 0 {
			names[place] = name
		}
		c.cache.found[place] = all[place]
	}
	return names
}
