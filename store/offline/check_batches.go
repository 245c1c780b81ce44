package offline

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
	"github.com/seedmq/seedmq/store/fs"
)

// batchCheck is what is known of one batch queue. Its units are read twice: once alone, once beside the log, whose order they
// have.
type batchCheck struct {
	QueueFiles
	dir       string
	fs        fs.FS
	fileUnits int64

	maxPhys int64
	inLog   int64
	damaged int64

	matched, missing, wrong int64
	strange                 []int64 // positions of units that no record has

	ahead  []consumequeue.BatchUnit // good units not yet compared, of the files before next
	next   int                      // file
	at     int64                    // unit in it
	ending bool                     // no more units
}

// batchesCheck is what the part "queues" has of batch queues.
type batchesCheck struct {
	part    *Part
	queues  map[string]map[int32]*batchCheck
	order   []*batchCheck
	topics  map[string]bool // whether topics have batch queues; nil: not known
	lacking map[string]int64
	dropped map[string]int64
}

func newBatchesCheck(o Options, l *Layout, d *deriver, part *Part, topics map[string]bool) (*batchesCheck, error) {
	c := &batchesCheck{part: part, queues: map[string]map[int32]*batchCheck{}, topics: topics, lacking: map[string]int64{}, dropped: d.dropped}
	for _, q := range l.BatchQueues {
		b := &batchCheck{QueueFiles: q, fs: o.FS, fileUnits: int64(l.BatchFileUnits), maxPhys: -1,
			dir: filepath.Join(o.path(batchDir), q.Topic, strconv.Itoa(int(q.ID)))}
		if c.queues[q.Topic] == nil {
			c.queues[q.Topic] = map[int32]*batchCheck{}
		}
		c.queues[q.Topic][q.ID] = b
		c.order = append(c.order, b)
	}
	return c, nil
}

// has says whether a topic's queues are batch queues: as its attributes say, else by what its records say.
func (c *batchesCheck) has(topic string, want *derived) bool {
	if batch, known := c.topics[topic]; known {
		return batch
	}
	if c.queues[topic] != nil {
		return true
	}
	_, _, ok := want.inner.parse()
	return ok
}

// look reads all batch queues and returns the position up to which one of them knows the log.
func (c *batchesCheck) look(logStart int64) (known int64, err error) {
	for _, q := range c.order {
		for _, info := range q.Files {
			if start, _ := fileNumber(info.Name); info.Size != q.fileUnits*consumequeue.BatchUnitSize || start%info.Size != 0 {
				c.part.note(Repairable, "batch queue %s: file %s has %d bytes", q.name(), info.Name, info.Size)
			}
		}
		for {
			u, ok, err := q.peek()
			if err != nil {
				return 0, err
			}
			if !ok {
				break
			}
			q.ahead = q.ahead[1:]
			q.maxPhys = u.PhysicalOffset + int64(u.Size)
			if u.PhysicalOffset >= logStart {
				q.inLog++
			}
		}
		if q.damaged > 0 {
			c.part.note(Repairable, "batch queue %s: %d units are damaged", q.name(), q.damaged)
		}
		q.next, q.at, q.ending = 0, 0, false
		known = max(known, q.maxPhys)
	}
	return known, nil
}

// peek is the next good unit; ok is false behind the last one.
func (q *batchCheck) peek() (u consumequeue.BatchUnit, ok bool, err error) {
	for len(q.ahead) == 0 && !q.ending {
		if err := q.read(); err != nil {
			return u, false, err
		}
	}
	if len(q.ahead) == 0 {
		return u, false, nil
	}
	return q.ahead[0], true, nil
}

// read reads the next block of units.
func (q *batchCheck) read() error {
	if q.next >= len(q.Files) {
		q.ending = true
		return nil
	}
	info := q.Files[q.next]
	units := min(info.Size/consumequeue.BatchUnitSize, q.fileUnits)
	n := min(units-q.at, unitsAtOnce)
	if n <= 0 {
		q.next, q.at = q.next+1, 0
		return nil
	}
	f, err := q.fs.Open(filepath.Join(q.dir, info.Name))
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, n*consumequeue.BatchUnitSize)
	if err := readFull(f, buf, q.at*consumequeue.BatchUnitSize); err != nil {
		return err
	}
	q.at += n
	empty := int64(0)
	for off := 0; off < len(buf); off += consumequeue.BatchUnitSize {
		switch u := consumequeue.DecodeBatch(buf[off:]); {
		case u == consumequeue.BatchUnit{}:
			empty++
		case !u.Valid() || len(q.ahead) > 0 && u.PhysicalOffset < q.ahead[len(q.ahead)-1].PhysicalOffset:
			q.damaged++
		default:
			q.damaged += empty // before this one, which is good
			empty = 0
			q.ahead = append(q.ahead, u)
		}
	}
	if empty > 0 && q.next < len(q.Files)-1 {
		q.damaged += empty
	}
	return nil
}

// record looks for the unit of a record.
func (c *batchesCheck) record(v *protocol.MessageView, want *derived) error {
	if !want.queued || !c.has(v.Topic, want) {
		return nil
	}
	q := c.queues[v.Topic][v.QueueID]
	if q == nil {
		c.lacking[strings.Clone(v.Topic)+"/"+strconv.Itoa(int(v.QueueID))]++
		return nil
	}
	return q.compare(v, want)
}

func (q *batchCheck) compare(v *protocol.MessageView, want *derived) error {
	for {
		u, ok, err := q.peek()
		switch {
		case err != nil:
			return err
		case !ok || u.PhysicalOffset > v.PhysicalOffset:
			q.missing++
			return nil
		}
		q.ahead = q.ahead[1:]
		if u.PhysicalOffset == v.PhysicalOffset {
			u.Compacted = -1 // says nothing of the log
			if sameUnit(u, batchUnit(v, want)) {
				q.matched++
			} else {
				q.wrong++
			}
			return nil
		}
		q.strange = append(q.strange, u.PhysicalOffset)
	}
}

// finish sums up, once the log was walked.
func (c *batchesCheck) finish(log *logResult) error {
	for _, q := range c.order {
		for {
			u, ok, err := q.peek()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			q.ahead = q.ahead[1:]
			q.strange = append(q.strange, u.PhysicalOffset)
		}
		c.verdict(q, log)
	}
	for _, name := range slices.Sorted(maps.Keys(c.lacking)) {
		c.part.note(Repairable, "batch queue %s is not there, the log has %d of its records", name, c.lacking[name])
	}
	if len(c.order) > 0 {
		c.part.Summary += ", " + plural(int64(len(c.order)), "batch queue")
	}
	return nil
}

func (c *batchesCheck) verdict(q *batchCheck, log *logResult) {
	var lost, behind, other int64
	for _, pos := range q.strange {
		switch {
		case pos < max(log.start, c.dropped[q.Topic]):
		case pos >= log.end:
			behind++
		case inHole(log.holes, pos):
			lost++
		default:
			other++
		}
	}
	if q.missing > 0 {
		c.part.note(Repairable, "batch queue %s: %d records of the log have no unit", q.name(), q.missing)
	}
	if q.wrong > 0 {
		c.part.note(Repairable, "batch queue %s: %d units differ from the log", q.name(), q.wrong)
	}
	if lost > 0 {
		c.part.note(Lost, "batch queue %s: %d records lie in damaged places of the log", q.name(), lost)
	}
	if behind > 0 {
		c.part.note(Repairable, "batch queue %s: the last %d units point behind the log's end %d", q.name(), behind, log.end)
	}
	// A unit of a record that recovery covered with fillers stays: readers skip it.
	if other > log.fillers {
		c.part.note(Repairable, "batch queue %s: %d units point to something else than a record of the queue", q.name(), other)
	}
}
