package main

import (
	"sort"
	"sync"
)

// history knows which version of each server was in force in which generation.
type history struct {
	mu      sync.Mutex
	servers [][]entry // ascending
}

// entry is what is known of a server from one generation on.
type entry struct {
	from    uint64
	version int
	gone    bool // it is not there
	unsure  bool // it may be there in the version, or gone: its removal is under way
}

func (h *history) add(n int, e entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers[n] = append(h.servers[n], e)
}

// remove notes that a server went away in one of the generations from first to last.
func (h *history) remove(n int, first, last uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.servers[n]
	if first < last {
		h.servers[n] = append(h.servers[n], entry{from: first, version: list[len(list)-1].version, unsure: true})
	}
	h.servers[n] = append(h.servers[n], entry{from: last, gone: true})
}

// at returns what is known of a server in a generation.
func (h *history) at(n int, generation uint64) entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.servers[n]
	i := sort.Search(len(list), func(i int) bool { return list[i].from > generation })
	if i == 0 {
		return entry{gone: true}
	}
	return list[i-1]
}

// forget keeps what is in force.
func (h *history) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n, list := range h.servers {
		h.servers[n] = []entry{list[len(list)-1]}
	}
}
