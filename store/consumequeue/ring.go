package consumequeue

import "sync"

// Capacities of rings, in units: powers of two.
const (
	ringMin  = 16
	ringMax  = 256
	ringStep = 4 // from one capacity to the next
)

// ringPool keeps released rings and counts those in use.
type ringPool struct {
	limit int64 // bytes in use above which rings do not grow

	mu struct {
		sync.Mutex
		used int64
		free [3][][]byte // by class
	}
}

const ringKeep = 1024 // released rings kept per class

func ringClass(units int) int {
	switch units {
	case ringMin:
		return 0
	case ringMin * ringStep:
		return 1
	}
	return 2
}

// get returns a ring of so many units. must says that it is taken even above the limit; otherwise it may be nil.
func (p *ringPool) get(units int, must bool) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	size := int64(units) * UnitSize
	if !must && p.mu.used+size > p.limit {
		return nil
	}
	p.mu.used += size
	free := &p.mu.free[ringClass(units)]
	if n := len(*free); n > 0 {
		r := (*free)[n-1]
		(*free)[n-1] = nil
		*free = (*free)[:n-1]
		return r
	}
	return make([]byte, size)
}

func (p *ringPool) put(r []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.used -= int64(len(r))
	free := &p.mu.free[ringClass(len(r)/UnitSize)]
	if len(*free) < ringKeep {
		*free = append(*free, r)
	}
}
