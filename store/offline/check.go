package offline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/checkpoint"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

// Check reads a whole store and says what is not as it should be: every record of the log, every unit of the queues and
// every entry of the index against the log, the checkpoint and the tables. It changes nothing. The error says why there is
// no verdict: store.ErrLocked, store.ErrUnsupported, ErrNoStore, or one of reading.
func Check(o Options) (*Report, error) {
	o = o.withDefaults()
	l, err := Look(o)
	if err != nil {
		return nil, err
	}
	held, err := lock(o, false)
	if err != nil {
		return nil, err
	}
	defer held.Close() // nothing was written
	if l, err = Look(o); err != nil {
		return nil, err
	}
	c := &checker{o: o, l: l, report: &Report{Root: o.Root, Layout: l}}
	if err := c.run(); err != nil {
		return nil, err
	}
	return c.report, nil
}

type checker struct {
	o      Options
	l      *Layout
	report *Report
}

func (c *checker) run() error {
	d, err := newDeriver(c.o)
	if err != nil {
		return err
	}
	tables, topics, err := c.tables()
	if err != nil {
		return err
	}
	queues, idx := newQueuesCheck(c.o, c.l, d, topics), newIndexCheck(c.o, c.l)
	if queues.batches, err = newBatchesCheck(c.o, c.l, d, queues.part, c.batchTopics(topics)); err != nil {
		return err
	}
	defer idx.close()
	start := int64(0)
	if len(c.l.LogFiles) > 0 {
		start = c.l.LogFiles[0].Start
	}
	known, err := queues.look(start)
	if err != nil {
		return err
	}
	inBatches, err := queues.batches.look(start)
	if err != nil {
		return err
	}
	known = max(known, inBatches)
	r := newLogReader(c.o, c.l)
	defer r.close()
	var want derived
	log, err := r.walk(c.l, known, c.o.Progress, func(v *protocol.MessageView) error {
		d.derive(v, &want)
		return errors.Join(queues.record(v, &want), queues.batches.record(v, &want), idx.record(v.PhysicalOffset, start, &want))
	})
	if err != nil {
		return err
	}
	if err := errors.Join(queues.finish(r, c.l, &log), queues.batches.finish(&log), idx.finish(c.l, &log)); err != nil {
		return err
	}
	check, err := c.checkpoint(&log)
	if err != nil {
		return err
	}
	c.report.Parts = []*Part{c.log(&log, known), queues.part, idx.part, check, tables, c.rest()}
	return nil
}

// log is the part "log".
func (c *checker) log(res *logResult, known int64) *Part {
	p := &Part{Name: "log"}
	p.Summary = fmt.Sprintf("%s from %d to %d in %s", plural(res.records, "record"), res.start, res.end, plural(int64(len(c.l.LogFiles)), "file"))
	if res.records > 0 {
		p.Summary += fmt.Sprintf(", stored %s to %s", wallTime(res.first), wallTime(res.lastTime))
	}
	c.logFiles(p)
	for _, h := range res.holes {
		p.note(Lost, "no good record from %d to %d (%d bytes): %v", h.from, h.to, h.to-h.from, h.why)
	}
	if res.cutAt >= 0 {
		p.note(Lost, "the only file ends inside the record at %d: it was longer; say how long with --log-file-size", res.cutAt)
	}
	if n := res.tail.to - res.tail.from; n > 0 {
		switch {
		case known > res.end:
			p.note(Lost, "no good record from %d on, queues know messages up to %d: %v", res.end, known, res.endWhy)
		case c.l.Crashed:
			p.note(Repairable, "%d bytes behind the end, at %d, are what was being written: %v", n, res.tail.from, orUnknown(res.endWhy))
		default:
			p.note(Good, "%d bytes behind the end, at %d, are left from before an earlier recovery", n, res.tail.from)
		}
	}
	if res.fillers > 0 {
		p.note(Good, "an earlier recovery covered %d bytes of lost messages with %s", res.fillerBytes, plural(res.fillers, "filler record"))
	}
	return p
}

func orUnknown(err error) error {
	if err == nil {
		return errors.New("no record begins there")
	}
	return err
}

// logFiles looks at the files' lengths. An empty last one was just being made.
func (c *checker) logFiles(p *Part) {
	files := c.l.LogFiles
	for i, f := range files {
		if i > 0 && files[i-1].Start+c.l.LogFileSize != f.Start {
			p.note(Lost, "there is no file %020d", files[i-1].Start+c.l.LogFileSize)
		}
		if f.Size < c.l.LogFileSize && !(i == len(files)-1 && f.Size == 0) {
			state := Repairable // a record that it has lost shows in the walk
			if !c.l.Crashed {
				state = Lost
			}
			p.note(state, "file %020d has %d bytes of %d", f.Start, f.Size, c.l.LogFileSize)
		}
	}
}

// checkpoint is the part "checkpoint".
func (c *checker) checkpoint(log *logResult) (*Part, error) {
	p := &Part{Name: "checkpoint"}
	b, err := fs.ReadFile(c.o.FS, c.o.path(checkName))
	if errors.Is(err, os.ErrNotExist) {
		p.Summary = "there is none"
		if log.records > 0 {
			p.note(Repairable, "a start after a crash would read the whole log")
		}
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := checkpoint.Decode(b)
	if err != nil {
		p.Summary = "no numbers that can be"
		p.note(Repairable, "%v", err)
		return p, nil
	}
	p.Summary = fmt.Sprintf("log synced to %s, queues to %s, position %d", wallTime(v.PhysicMsgTimestamp), wallTime(v.LogicsMsgTimestamp), v.LogicsPhyOffset)
	if v.PhysicMsgTimestamp > log.lastTime {
		p.note(Lost, "messages stored up to %s were synced, the last one of the log is of %s", wallTime(v.PhysicMsgTimestamp), wallTime(log.lastTime))
	}
	if v.LogicsPhyOffset > log.end {
		p.note(Repairable, "position %d is behind the log's end %d", v.LogicsPhyOffset, log.end)
	}
	return p, nil
}

// tables is the part "tables", and the topics of topics.json, nil if they are not known.
func (c *checker) tables() (*Part, map[string]bool, error) {
	p := &Part{Name: "tables"}
	files, err := list(c.o.FS, c.o.path("config"))
	if err != nil {
		return nil, nil, err
	}
	var topics map[string]bool
	var names []string
	for _, i := range files {
		name := strings.TrimSuffix(i.Name, configfile.BackupSuffix)
		if !i.Dir && strings.HasSuffix(name, ".json") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		v, err := c.table(p, name)
		if err != nil {
			return nil, nil, err
		}
		if table, ok := v["topicConfigTable"].(map[string]any); ok && name == "topics.json" {
			topics = map[string]bool{}
			for topic := range table {
				topics[topic] = true
			}
		}
	}
	if topics == nil && len(c.l.Queues) > 0 && !slices.Contains(names, "topics.json") {
		p.note(Repairable, "there is no topics.json; a start makes topics again from their queues, with default settings")
	}
	p.Summary = plural(int64(len(names)), "table")
	if topics != nil {
		p.Summary += ", " + plural(int64(len(topics)), "topic")
	}
	return p, topics, nil
}

// table reads one table, or its backup.
func (c *checker) table(p *Part, name string) (map[string]any, error) {
	main, err1 := c.decode(name)
	backup, err2 := c.decode(name + configfile.BackupSuffix)
	for _, err := range []error{err1, err2} {
		if err != nil && !errors.Is(err, configfile.ErrCorrupt) && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	switch {
	case main != nil:
		if errors.Is(err2, configfile.ErrCorrupt) {
			p.note(Good, "%s.bak is damaged, the table itself is good", name)
		}
		return main, nil
	case backup != nil:
		p.note(Repairable, "%s: %v; its .bak is good", name, err1)
		return backup, nil
	case errors.Is(err1, configfile.ErrCorrupt) || errors.Is(err2, configfile.ErrCorrupt):
		p.note(Lost, "%s and its .bak cannot be read: %v", name, errors.Join(err1, err2))
	}
	return nil, nil
}

var errEmpty = fmt.Errorf("it is empty: %w", os.ErrNotExist)

func (c *checker) decode(name string) (map[string]any, error) {
	b, err := fs.ReadFile(c.o.FS, filepath.Join(c.o.path("config"), name))
	if err != nil {
		return nil, err
	}
	if len(strings.TrimSpace(string(b))) == 0 {
		return nil, errEmpty
	}
	var v map[string]any
	if err := configfile.Decode(b, &v); err != nil {
		return nil, err
	}
	return v, nil
}

// rest is the part "state": abort file, and what lies about.
func (c *checker) rest() *Part {
	p := &Part{Name: "state", Summary: "closed"}
	if c.l.Crashed {
		p.Summary = "not closed: the broker was killed, or the machine stopped"
		p.note(Repairable, "the next start recovers it")
	}
	for _, path := range c.l.Foreign {
		p.note(Good, "%s does not belong there; a Java broker may refuse to start because of it", path)
	}
	for _, d := range []struct{ dir, what string }{{tornDir, "was cut off or covered"}, {badDir, "was found damaged"}} {
		if files, err := c.o.FS.List(c.o.path(d.dir)); err == nil && len(files) > 0 {
			p.note(Good, "%s has what %s before; nothing needs it", c.o.path(d.dir), d.what)
		}
	}
	return p
}

func wallTime(ms int64) string {
	if ms <= 0 || ms > 1<<45 {
		return fmt.Sprint(ms)
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04:05.000")
}
