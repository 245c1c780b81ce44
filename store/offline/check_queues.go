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

// unitsAtOnce are read when a queue is looked through, unitsAhead when it is compared with the log beside all others.
const (
	unitsAtOnce = 3072
	unitsAhead  = 64
)

// queueCheck is what is known of one queue.
type queueCheck struct {
	QueueFiles
	dir       string
	fs        fs.FS
	fileUnits int64
	order     []int64 // first units of its files

	end     int64 // unit behind the last good one
	maxPhys int64 // end of the last good unit's record; -1 without one
	before  int64 // what maxPhys was before that unit
	counted bool  // that unit is in inLog
	limit   int64 // end of the log's last file
	inLog   int64 // good units that point at or behind the log's start
	behind  int64 // good units that point at or behind the log's end
	damaged int64 // units that cannot be
	matched int64 // units that are as the log says

	missing, wrong, old int64 // records of the log without a unit, with another one, of an earlier topic
	wild                int64 // of wrong: the unit points behind the log's files
	firstMissing        int64

	ahead     []byte // units from aheadFrom on
	aheadFrom int64
}

func newQueueCheck(o Options, l *Layout, q QueueFiles) *queueCheck {
	c := &queueCheck{QueueFiles: q, fs: o.FS, fileUnits: int64(l.QueueFileUnits), maxPhys: -1, before: -1, aheadFrom: -1}
	if n := len(l.LogFiles); n > 0 {
		c.limit = l.LogFiles[n-1].Start + l.LogFileSize
	}
	c.dir = filepath.Join(o.path(queueDir), q.Topic, strconv.Itoa(int(q.ID)))
	return c
}

// look reads the queue from its first unit to its last, and notes in p what cannot be.
func (c *queueCheck) look(p *Part, logStart int64) error {
	for i, info := range c.Files {
		start, _ := fileNumber(info.Name)
		if info.Size != c.fileUnits*consumequeue.UnitSize || start%info.Size != 0 {
			p.note(Repairable, "%s: file %s has %d bytes", c.name(), info.Name, info.Size)
		}
		start /= consumequeue.UnitSize
		if n := len(c.order); n > 0 && c.order[n-1]+c.fileUnits != start {
			p.note(Repairable, "%s: there is no file before %s", c.name(), info.Name)
		}
		c.order = append(c.order, start)
		if err := c.lookFile(info, start, i == len(c.Files)-1, logStart); err != nil {
			return err
		}
	}
	if c.damaged > 0 {
		p.note(Repairable, "%s: %d units are damaged", c.name(), c.damaged)
	}
	return nil
}

// lookFile reads one file; the last one up to a block of zeros.
func (c *queueCheck) lookFile(info fs.Info, start int64, last bool, logStart int64) error {
	f, err := c.fs.Open(filepath.Join(c.dir, info.Name))
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, unitsAtOnce*consumequeue.UnitSize)
	units := min(info.Size/consumequeue.UnitSize, c.fileUnits)
	empty := int64(0) // units that were skipped since the last good one
	for n := int64(0); n < units; n += unitsAtOnce {
		part := buf[:min(units-n, unitsAtOnce)*consumequeue.UnitSize]
		if err := readFull(f, part, n*consumequeue.UnitSize); err != nil {
			return err
		}
		good := false
		for off := 0; off < len(part); off += consumequeue.UnitSize {
			u := consumequeue.Decode(part[off:])
			at := start + n + int64(off/consumequeue.UnitSize)
			switch {
			case u == consumequeue.Unit{}:
				empty++
				continue
			case u.Blank() && c.maxPhys < 0:
				c.end, good = at+1, true
			case !u.Valid() || u.Blank() || u.PhysicalOffset < c.maxPhys && u.PhysicalOffset < c.before:
				c.damaged++
				continue
			default:
				c.damaged += empty // before this one, which is good
				c.take(u, at, logStart)
				good = true
			}
			empty = 0
		}
		if last && !good {
			return nil
		}
	}
	if !last {
		c.damaged += empty
	}
	return nil
}

// take counts a unit that fits those before it. Where it is only the one before it that it does not fit, that one is damaged.
func (c *queueCheck) take(u consumequeue.Unit, at, logStart int64) {
	if u.PhysicalOffset < c.maxPhys {
		c.damaged++
		if c.counted {
			c.inLog--
		}
	} else {
		c.before = c.maxPhys
	}
	c.end, c.maxPhys, c.counted = at+1, u.PhysicalOffset+int64(u.Size), u.PhysicalOffset >= logStart
	if c.counted {
		c.inLog++
	}
}

// unit reads a unit; the zero one where there is none.
func (c *queueCheck) unit(n int64) (consumequeue.Unit, error) {
	if i := n - c.aheadFrom; c.aheadFrom >= 0 && i >= 0 && i < int64(len(c.ahead)/consumequeue.UnitSize) {
		return consumequeue.Decode(c.ahead[i*consumequeue.UnitSize:]), nil
	}
	for i, start := range c.order {
		if n < start || n >= start+c.fileUnits || n >= c.end {
			continue
		}
		f, err := c.fs.Open(filepath.Join(c.dir, c.Files[i].Name))
		if err != nil {
			return consumequeue.Unit{}, err
		}
		defer f.Close()
		want := int(min(unitsAhead, start+c.fileUnits-n)) * consumequeue.UnitSize
		if cap(c.ahead) < want {
			c.ahead = make([]byte, unitsAhead*consumequeue.UnitSize)
		}
		c.ahead, c.aheadFrom = c.ahead[:want], n
		if err := readFull(f, c.ahead, (n-start)*consumequeue.UnitSize); err != nil {
			return consumequeue.Unit{}, err
		}
		return consumequeue.Decode(c.ahead), nil
	}
	return consumequeue.Unit{}, nil
}

// compare looks for the unit of a record, whose offset in the queue is known.
func (c *queueCheck) compare(d *deriver, v *protocol.MessageView, want *derived, offset int64) error {
	u, err := c.unit(offset)
	switch {
	case err != nil:
		return err
	case d.fits(want, u):
		c.matched++
	case u == consumequeue.Unit{} || u.Blank():
		if c.missing == 0 {
			c.firstMissing = offset
		}
		c.missing++
	case u.Valid() && u.PhysicalOffset >= c.limit:
		c.wrong++
		c.wild++
	case u.Valid() && u.PhysicalOffset > v.PhysicalOffset:
		c.old++ // the offset was given again; if u is no good unit, the count of units will show it
	default:
		c.wrong++
	}
	return nil
}

// queuesCheck is the part "queues".
type queuesCheck struct {
	part    *Part
	o       Options
	derive  *deriver
	queues  map[string]map[int32]*queueCheck
	order   []*queueCheck
	topics  map[string]bool // of topics.json; nil: not known
	gone    map[string]int64
	lacking map[string]*queueCheck // queues that the log speaks of and that are not there
	batches *batchesCheck
	units   int64
}

func newQueuesCheck(o Options, l *Layout, d *deriver, topics map[string]bool) *queuesCheck {
	c := &queuesCheck{part: &Part{Name: "queues"}, o: o, derive: d, queues: map[string]map[int32]*queueCheck{}, topics: topics,
		gone: map[string]int64{}, lacking: map[string]*queueCheck{}}
	for _, q := range l.Queues {
		qc := newQueueCheck(o, l, q)
		if c.queues[q.Topic] == nil {
			c.queues[q.Topic] = map[int32]*queueCheck{}
		}
		c.queues[q.Topic][q.ID] = qc
		c.order = append(c.order, qc)
	}
	return c
}

// look reads all queues and returns the position up to which one of them knows the log.
func (c *queuesCheck) look(logStart int64) (known int64, err error) {
	for _, q := range c.order {
		if err := q.look(c.part, logStart); err != nil {
			return 0, err
		}
		if q.maxPhys <= q.limit {
			known = max(known, q.maxPhys)
		}
	}
	return known, nil
}

func (c *queuesCheck) record(v *protocol.MessageView, want *derived) error {
	for _, l := range want.lights {
		if q := c.queues[l.queue][0]; q != nil {
			if err := q.compare(c.derive, v, want, l.offset); err != nil {
				return err
			}
			continue
		}
		c.lack(strings.Clone(l.queue), 0, l.offset)
	}
	if !want.queued || c.batches.has(v.Topic, want) {
		return nil
	}
	q := c.queues[v.Topic][v.QueueID]
	if q != nil {
		return q.compare(c.derive, v, want, v.QueueOffset)
	}
	topic := strings.Clone(v.Topic)
	if c.queues[topic] == nil && c.topics != nil && !c.topics[topic] && !protocol.IsSystemTopic(topic) {
		c.gone[topic]++
		return nil
	}
	c.lack(topic, v.QueueID, v.QueueOffset)
	return nil
}

// lack notes a message whose queue is not there.
func (c *queuesCheck) lack(topic string, id int32, offset int64) {
	name := topic + "/" + strconv.Itoa(int(id))
	if c.lacking[name] == nil {
		c.lacking[name] = &queueCheck{QueueFiles: QueueFiles{Topic: topic, ID: id}, firstMissing: offset}
	}
	c.lacking[name].missing++
}

// finish sums up, once the log was walked.
func (c *queuesCheck) finish(r *logReader, l *Layout, log *logResult) error {
	for _, q := range c.order {
		if err := q.countBehind(log.end); err != nil {
			return err
		}
		if q.inLog-q.behind > q.matched {
			if err := c.explain(r, q, log); err != nil {
				return err
			}
		}
		c.verdict(q, l, log)
		c.units += q.inLog
	}
	for _, name := range slices.Sorted(maps.Keys(c.lacking)) {
		c.part.note(Repairable, "%s is not there, the log has %d of its messages", name, c.lacking[name].missing)
	}
	for _, topic := range slices.Sorted(maps.Keys(c.gone)) {
		c.part.note(Good, "topic %s is gone (not in topics.json either); the log still has %d of its messages", topic, c.gone[topic])
	}
	c.part.Summary = plural(int64(len(c.order)), "queue") + " of " + plural(int64(len(c.queues)), "topic") + ", " + plural(c.units, "unit") + " for what the log has"
	return nil
}

// countBehind counts the units at the queue's end that point behind the log's.
func (q *queueCheck) countBehind(logEnd int64) error {
	if q.maxPhys <= logEnd {
		return nil
	}
	for n := q.end - 1; n >= 0; n-- {
		q.aheadFrom = -1
		u, err := q.unit(n)
		if err != nil {
			return err
		}
		if !u.Valid() || u.PhysicalOffset+int64(u.Size) <= logEnd {
			break
		}
		q.behind++
	}
	return nil
}

func (c *queuesCheck) verdict(q *queueCheck, l *Layout, log *logResult) {
	if q.missing > 0 {
		c.part.note(Repairable, "%s: %d messages of the log have no unit, the first at offset %d", q.name(), q.missing, q.firstMissing)
	}
	if q.wrong > 0 {
		c.part.note(Repairable, "%s: %d units differ from the log", q.name(), q.wrong)
	}
	if q.old > 0 {
		c.part.note(Good, "%s: the log has %d messages of an earlier topic of this name", q.name(), q.old)
	}
	if behind := q.behind - q.wild; behind > 0 {
		state := Repairable // what a crash may leave; the checkpoint tells if the log had more
		if !l.Crashed {
			state = Lost
		}
		c.part.note(state, "%s: the last %d units point behind the log's end %d", q.name(), behind, log.end)
	}
}

// explain goes through a queue that has more units than the log has records for it.
func (c *queuesCheck) explain(r *logReader, q *queueCheck, log *logResult) error {
	var lost, strange, altered, firstLost int64
	var v protocol.MessageView
	var want derived
	for n := q.order[0]; n < q.end; n++ {
		u, err := q.unit(n)
		if err != nil {
			return err
		}
		if !u.Valid() || u.Blank() || u.PhysicalOffset < log.start || u.PhysicalOffset+int64(u.Size) > log.end {
			continue
		}
		err = r.record(u.PhysicalOffset, &v)
		switch {
		case err == nil:
			c.derive.derive(&v, &want)
			same := want.at(&v, q.Topic, q.ID, n)
			if isFiller(&v) || same && (want.scrapped || c.derive.fits(&want, u)) {
				continue
			}
			strange++
			if same || u.Size != v.Size {
				continue
			}
			if claimed, err := c.claimed(&v, &want); err != nil {
				return err
			} else if !claimed { // the unit was made from this record, which was another one then
				strange--
				altered++
			}
		case inHole(log.holes, u.PhysicalOffset):
			if lost++; lost == 1 {
				firstLost = n
			}
		case isBad(err) || err == errBlank:
			strange++
		default:
			return err
		}
	}
	if lost > 0 {
		c.part.note(Lost, "%s: %d messages lie in damaged places of the log, the first has offset %d", q.name(), lost, firstLost)
	}
	if altered > 0 {
		c.part.note(Lost, "%s: topic, queue or offset of %d messages changed in the log after they were stored", q.name(), altered)
	}
	if strange > q.wrong {
		c.part.note(Repairable, "%s: %d units point to something else than a message of the queue", q.name(), strange)
	}
	return nil
}

// claimed says that the record has a unit in the queue that it names.
func (c *queuesCheck) claimed(v *protocol.MessageView, want *derived) (bool, error) {
	q := c.queues[v.Topic][v.QueueID]
	if q == nil {
		return false, nil
	}
	u, err := q.unit(v.QueueOffset)
	return err == nil && c.derive.fits(want, u), err
}

func inHole(holes []hole, pos int64) bool {
	for _, h := range holes {
		if pos >= h.from && pos < h.to {
			return true
		}
	}
	return false
}

func plural(n int64, what string) string {
	if stem, ok := strings.CutSuffix(what, "y"); ok && n != 1 {
		what = stem + "ies"
	} else if n != 1 {
		what += "s"
	}
	return strconv.FormatInt(n, 10) + " " + what
}
