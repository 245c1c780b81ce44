package store

// job is work that must not meet an append to the queues.
type job struct {
	fn   func()
	done chan struct{}
}

// do has the dispatcher's goroutine run fn between two rounds, and waits for it. False: the dispatcher was stopped
// before, and fn was not run.
func (d *dispatcher) do(fn func()) bool {
	d.jobMu.Lock()
	defer d.jobMu.Unlock()
	j := &job{fn, make(chan struct{})}
	d.job.Store(j)
	d.kick()
	select {
	case <-j.done:
		return true
	case <-d.s.group.Done():
	}
	if d.job.CompareAndSwap(j, nil) {
		return false
	}
	<-j.done // it is running
	return true
}

func (d *dispatcher) runJob() {
	if j := d.job.Swap(nil); j != nil {
		j.fn()
		close(j.done)
	}
}

// drain waits until everything confirmed is dispatched, dispatching failed, or the dispatcher was stopped.
func (d *dispatcher) drain() {
	for !d.caughtUp() && !d.isFailed() {
		if !d.do(func() {}) {
			return
		}
	}
}
