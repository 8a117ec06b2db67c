package engine

// What tests in package engine_test need to see of the inside.

// HoldWriters takes both locks of the writers until release is called: no snapshot is made meanwhile.
func (e *Engine) HoldWriters() (release func()) {
	e.publishing.Lock()
	e.queue.Lock()
	return func() {
		e.queue.Unlock()
		e.publishing.Unlock()
	}
}

// HoldPublishing keeps writers from making snapshots, but not from queueing for the next one.
func (e *Engine) HoldPublishing() (release func()) {
	e.publishing.Lock()
	return e.publishing.Unlock
}

// Waiting returns how many changes wait for the next snapshot.
func (e *Engine) Waiting() int {
	e.queue.Lock()
	defer e.queue.Unlock()
	return len(e.queue.changes)
}

// ServerView returns what the view computed of a server: the same pointer means that nothing was computed again.
func (v *ViewSnapshot) ServerView(server string) any {
	return v.servers[v.snapshot.servers.find(server)]
}

// ListStart returns the address of the view's list of tools: the same address means that it was not made again.
func (v *ViewSnapshot) ListStart() **Tool { return &v.shown().tools[0] }
