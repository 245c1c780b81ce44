package modeltest

import (
	"fmt"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// item is a message that somebody may come to read, and what is known of it.
type item struct {
	name   string // of the message, with the try for retries and dead letters
	topic  string
	queue  int32 // -1: any
	due    int64 // not before, in ms
	sure   bool  // the broker said that it has it
	never  string
	copies int  // as many may be seen
	plain  bool // it is at its place, once
	offset int64
	sentAt int64
	handle string // recalls it
	purged bool   // or perhaps
}

// sendBack names a try of a message in a group's retry topic or among its dead letters.
func tryOf(topic, body string, times int32) string {
	switch {
	case protocol.IsRetryTopic(topic):
		return fmt.Sprintf("%s try %d", body, times)
	case protocol.IsDLQTopic(topic):
		return fmt.Sprintf("%s dead %d", body, times)
	}
	return body
}

// halfRecord is where a half message, or a copy of it that its producer was asked about, is.
type halfRecord struct{ queue, log int64 }

// tx is a transaction.
type tx struct {
	*item
	stored   bool // the half message was acknowledged
	records  []halfRecord
	outcome  int32 // that its producer decided on; 0: none yet
	accepted bool  // the broker took it
	tried    bool  // it was sent, and may have been taken
	lost     bool  // a power failure may have taken it back
	givenUp  bool
}

// place is a queue.
type place struct {
	topic string
	queue int32
}

// progress is the consumer group's in a queue.
type progress struct {
	has   bool
	at    int64
	owner uint64
	// before are offsets that a kill may bring back: those since the last that is known to be saved; -1 is none.
	before []int64
	reset  bool // waits for the consumer
	told   bool // since the last save: a kill may bring the reset back
}

func (p *progress) set(at int64) {
	if !p.has {
		p.before = append(p.before, -1)
	} else {
		p.before = append(p.before, p.at)
	}
	p.has, p.at = true, at
}

// model is what should be.
type model struct {
	items    map[string]*item
	names    []string // in the order of sending
	txs      []*tx
	progress map[place]*progress
	tried    map[string]bool // was sent back
	kills    int
	ends     map[place]int64
	pops     pops
	// gone are the first offsets of queues that were purged, maybe those of purges that were not answered.
	gone  map[place]int64
	maybe map[place]bool
}

func newModel() model {
	m := model{items: map[string]*item{}, progress: map[place]*progress{}, tried: map[string]bool{}, ends: map[place]int64{}, pops: newPops(),
		gone: map[place]int64{}, maybe: map[place]bool{}}
	for _, t := range topics {
		for q := range int32(queues) {
			m.progress[place{t, q}] = &progress{}
		}
	}
	return m
}

func (m *model) add(it *item) *item {
	if it.copies == 0 {
		it.copies = 1
	}
	m.items[it.name] = it
	m.names = append(m.names, it.name)
	return it
}

// crashed notes what a kill may change: deliveries that are not known to be done are repeated.
func (w *world) crashed() {
	w.kills++
	for _, name := range w.names {
		if w.power || !w.pops.never[name] {
			w.pops.twice[name] = true
		}
	}
	if w.power { // handles may be of pops that never were
		w.pops.open = nil
	}
	for _, it := range w.items {
		if !it.plain {
			it.copies++
		}
	}
	for _, x := range w.txs {
		if w.power && x.outcome != 0 {
			x.lost = true // ends do not wait for the disk; the producer is asked again
			x.sure = false
		}
	}
}

// stoppedClean notes that all was written.
func (w *world) stoppedClean() {
	for _, p := range w.progress {
		p.before, p.told = nil, false
	}
}

// restarted compares the progress with what was known before.
func (w *world) restarted() error {
	if err := w.readEnds(); err != nil {
		return err
	}
	for k, p := range w.progress {
		at, has, err := w.queryOffset(k)
		if err != nil {
			return err
		}
		ok := has == p.has && at == min(p.at, w.ends[k])
		for _, was := range p.before {
			ok = ok || !has && was < 0 || has && at == min(was, w.ends[k])
		}
		if !ok {
			return fmt.Errorf("offset of %v after the start: %d %v; it was %d %v, before that %v", k, at, has, p.at, p.has, p.before)
		}
		if has != p.has || at != p.at {
			w.note("offset of %v is %d (%v), was %d", k, at, has, p.at)
		}
		p.has, p.at, p.owner, p.before = has, at, 0, nil
		if p.told { // the reset may wait again
			if err := w.pullAs(k, w.members[0], true); err != nil {
				return err
			}
		}
	}
	return nil
}
