package store

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seedmq/seedmq/store/checkpoint"
	"github.com/seedmq/seedmq/store/consumequeue"
	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/index"
	"github.com/seedmq/seedmq/store/mappedfile"
)

const (
	abortFile = "abort"
	lockFile  = "lock"
	// checkpointSlack is how much older than the checkpoint's times a record must be to be surely on disk.
	checkpointSlack = 3000 // ms
	// farBehindRatio of memory is how far behind the end a reader is "slow".
	farBehindRatio = 0.40
	// clockSlack is how far the log may be ahead of the clock before its last store time is not continued.
	clockSlack = time.Minute
)

// open brings the directory into a state from which appends can go on.
//
//  1. lock; refuse what is not ours, without changing anything
//  2. leave the abort file, so that a crash from here on is seen
//  3. open queues, index, checkpoint and log files; find where to read the log from
//  4. cut the queues to that position, read the log from there, mend its holes, cut its tail, dispatch it again
//  5. set all counters
func (s *Store) open() error {
	if err := s.lockRoot(); err != nil {
		return err
	}
	crashed, err := s.wasOpen()
	if err != nil {
		return err
	}
	found, err := s.findFiles(crashed)
	if err != nil {
		return err
	}
	if s.cq, err = consumequeue.Open(consumequeue.Options{FS: s.fs, Dir: s.path("consumequeue"), BadDir: s.path("bad"),
		FileUnits: s.o.QueueFileUnits, AfterCrash: crashed, SyncedPhys: s.syncedPhys(), Log: s.o.Log}); err != nil {
		if errors.Is(err, consumequeue.ErrUnsupported) {
			err = fmt.Errorf("%w: %w", ErrUnsupported, err)
		}
		return err
	}
	if err := s.openBatches(crashed); err != nil {
		return err
	}
	if err := s.writeAbort(); err != nil {
		return err
	}
	if err := s.openRest(found, crashed); err != nil {
		return err
	}
	if err := s.dropped.load(s, s.log.start()); err != nil {
		return err
	}
	r := recovery{s: s, crashed: crashed, started: s.o.Clock.Now()}
	if err := r.run(); err != nil {
		return fmt.Errorf("recover the commit log: %w", err)
	}
	if err := s.raised.restore(s.log.end.Load()); err != nil {
		return err
	}
	s.batches.open.Store(true)
	if !s.ours && s.o.NotOurs != nil {
		if err := s.o.NotOurs(); err != nil {
			return err
		}
	}
	return s.writeOpen()
}

// syncedPhys is what the checkpoint file says of the queues. It is read here without being opened, since the store may
// yet be refused.
func (s *Store) syncedPhys() int64 {
	b, err := fs.ReadFile(s.fs, s.path("checkpoint"))
	if err != nil {
		return 0
	}
	v, err := checkpoint.Decode(b)
	if err != nil {
		return 0 // Open will say so
	}
	return v.LogicsPhyOffset
}

func (s *Store) path(name string) string { return filepath.Join(s.o.Root, name) }

// lockRoot makes and locks the root folder, unless it holds something foreign.
func (s *Store) lockRoot() error {
	if err := s.refuseForeign(); err != nil {
		return err
	}
	if err := s.fs.MkdirAll(s.o.Root); err != nil {
		return err
	}
	lock, err := s.fs.Lock(s.path(lockFile))
	if errors.Is(err, fs.ErrLocked) {
		return fmt.Errorf("%w: %s", ErrLocked, s.o.Root)
	}
	if err != nil {
		return err
	}
	s.lock = lock
	return nil
}

// What the lock file says. Java writes lockClosed whenever it opens a store, and never reads it.
const (
	lockClosed = "lock"
	lockOpen   = "open"
)

// wasOpen says that the store was not closed: the abort file is there, or the lock file says that we had it open, should
// somebody have removed the other.
func (s *Store) wasOpen() (bool, error) {
	lock, err := fs.ReadFile(s.fs, s.path(lockFile))
	if err != nil {
		return false, err
	}
	s.ours = string(lock) == lockOpen
	_, err = s.fs.Stat(s.path(abortFile))
	if errors.Is(err, os.ErrNotExist) {
		return s.ours, nil
	}
	return err == nil, err
}

// writeAbort leaves the file whose presence says that the store was not closed. Java keeps its process id there.
func (s *Store) writeAbort() error {
	if err := writeFile(s.fs, s.path(abortFile), strconv.Itoa(os.Getpid())); err != nil {
		return err
	}
	return s.fs.SyncDir(s.o.Root)
}

// writeOpen says that the store is open and was recovered by us: see recovery.notBefore.
func (s *Store) writeOpen() error { return writeFile(s.fs, s.path(lockFile), lockOpen) }

func writeFile(f fs.FS, name, content string) error {
	file, err := f.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteAt([]byte(content), 0)
	if err == nil {
		err = file.Truncate(int64(len(content)))
	}
	return errors.Join(err, file.Close())
}

func (s *Store) openRest(found []foundFile, crashed bool) error {
	if err := s.fs.MkdirAll(s.log.dir); err != nil {
		return err
	}
	if crashed { // perhaps before the name of a new file was synced
		if err := s.fs.SyncDir(s.log.dir); err != nil {
			return err
		}
	}
	var err error
	if s.check, err = checkpoint.Open(s.fs, s.path("checkpoint")); err != nil {
		return err
	}
	if s.o.IndexEnabled {
		if s.index, err = index.Open(index.Options{FS: s.fs, Dir: s.path("index"), Slots: s.o.IndexSlots,
			Entries: s.o.IndexEntries, AfterCrash: crashed, Clock: s.o.Clock, Log: s.o.Log}); err != nil {
			return err
		}
	}
	s.log.pool = mappedfile.NewPool(s.o.MapBytes)
	s.farBehind = int64(float64(fs.PhysicalMemory()) * farBehindRatio)
	if err = s.log.dropSpares(); err != nil {
		return err
	}
	err = s.openFiles(found)
	s.log.gone.Store(s.log.start())
	return err
}

// recovery is the state of one recovery.
type recovery struct {
	s       *Store
	crashed bool
	started time.Time

	pos      int64 // next record to look at
	from     int64 // where reading began
	lastTime int64 // store time of the last good record
	records  int64
	holes    int      // that were mended
	places   []places // of fillers met so far
	known    int64    // queues have units up to here
	pending  []dispatchEntry
	hashes   []int32
	keys     []int32         // hashes of one record
	lights   []dispatchEntry // of one record
}

func (r *recovery) run() error {
	s := r.s
	r.known = max(s.cq.MaxPhys(), s.bq.MaxPhys())
	if len(s.log.list()) == 0 {
		return r.startEmpty()
	}
	if err := r.chooseStart(); err != nil {
		return err
	}
	limit := s.log.list()[len(s.log.list())-1].End()
	s.log.end.Store(limit) // so that the scan may read everything
	if err := errors.Join(r.cutQueues(r.from), s.correctMin(s.log.start())); err != nil {
		return err
	}
	again, err := s.finishDeletions()
	if err == nil && again < r.from {
		err = errors.Join(r.startAt(again), r.cutQueues(r.from))
	}
	if err != nil {
		return err
	}
	end, err := r.replay()
	if err != nil {
		return err
	}
	if err := r.cut(end); err != nil {
		return err
	}
	return r.finish(end)
}

// maxReplays bounds how often the log is read because queues turn out to have lost units further back.
const maxReplays = 3

// replay dispatches the log from r.from, and again from further back if a queue lacks units there.
func (r *recovery) replay() (end int64, err error) {
	s := r.s
	before := r.lastTime
	for n := 1; ; n++ {
		s.loadQueues()
		s.dispatch.pos.Store(r.from)
		if end, err = r.scan(); err != nil {
			return 0, err
		}
		need := min(s.cq.RebuildFrom(), s.bq.RebuildFrom())
		if need >= r.from || r.from == s.log.start() {
			return end, nil
		}
		if n >= maxReplays {
			need = 0
		}
		r.known = max(r.known, end)
		r.lastTime, r.places, r.records = before, nil, 0
		if err := r.startAt(need); err != nil {
			return 0, err
		}
		s.o.Log.Warnf("consume queues lack messages from before; reading the log again from %d", r.from)
		s.log.end.Store(s.log.list()[len(s.log.list())-1].End())
		if err := r.cutQueues(r.from); err != nil {
			return 0, err
		}
	}
}

// startEmpty begins a log. Where queues are left of one that is gone, it begins behind it, so that queue offsets go on.
func (r *recovery) startEmpty() error {
	var start int64
	if r.known > 0 {
		size := r.s.log.fileSize
		start = (r.known + size - 1) / size * size
		r.s.o.Log.Errorf("there is no commit log file, but queues refer to one; the log goes on at %d", start)
	}
	return r.finish(start)
}

// cutQueues removes what queues and index know of the log from a position on.
func (r *recovery) cutQueues(pos int64) error {
	if err := errors.Join(r.s.cq.TruncateToPhys(pos), r.s.bq.TruncateToPhys(pos)); err != nil {
		return err
	}
	if r.s.index != nil {
		return r.s.index.TruncateTo(pos)
	}
	return nil
}

// chooseStart finds the position to read from: below it log, queues and index are known to be whole.
func (r *recovery) chooseStart() error {
	if r.crashed {
		return r.chooseAfterCrash()
	}
	files := r.s.log.list()
	first, last := files[0].Start(), files[len(files)-1].End()
	if r.known <= first || r.known > last {
		r.from = first
		return nil
	}
	ok, err := r.endsRecord(r.known)
	if r.from = r.known; !ok {
		r.from = r.fileStart(r.known - 1)
	}
	if err != nil {
		return err
	}
	lost, err := r.indexGap()
	return errors.Join(err, r.startBefore(min(lost, r.damaged())))
}

// damaged is the position from which queues or index must be made again because files of theirs are damaged.
func (r *recovery) damaged() int64 {
	need := min(r.s.cq.RebuildFrom(), r.s.bq.RebuildFrom())
	if r.s.index != nil {
		need = min(need, r.s.index.Report().RebuildFrom)
	}
	return need
}

// startBefore moves r.from to need if that is less, and startAt in any case: or to the start of its file, if no record can
// begin there.
func (r *recovery) startBefore(need int64) error {
	if need >= r.from {
		return nil
	}
	return r.startAt(need)
}

func (r *recovery) startAt(need int64) error {
	ok, err := r.boundary(need)
	if r.from = need; !ok {
		r.from = r.fileStart(need)
	}
	return err
}

// chooseAfterCrash goes by the checkpoint: the newest file whose first record was stored well before its times, and
// then the position below which it says that the queues are whole, unless that is no place where a record can begin.
// What queues and index lost since counts against both.
func (r *recovery) chooseAfterCrash() error {
	s := r.s
	files := s.log.list()
	values := s.check.Get()
	stamp := min(values.PhysicMsgTimestamp, values.LogicsMsgTimestamp) - checkpointSlack
	r.from = files[0].Start()
	for i := len(files) - 1; i > 0; i-- {
		ok, err := r.goodStart(files[i], stamp)
		if err != nil {
			return err
		}
		if ok {
			r.from = files[i].Start()
			break
		}
	}
	if p := values.LogicsPhyOffset; p > r.from {
		ok, err := r.boundary(p)
		if err == nil && !ok && p == r.known { // it was idle: there is nothing behind
			ok, err = r.endsRecord(p)
		}
		if err != nil {
			return err
		}
		if ok {
			r.from = p
		}
	}
	need := r.damaged()
	if s.cq.BeginsLate(files[0].Start()) || s.bq.BeginsLate(files[0].Start()) {
		need = files[0].Start()
	}
	lost, err := r.indexGap()
	if err != nil {
		return err
	}
	need = min(need, lost)
	if s.index != nil && !s.ours {
		need = min(need, s.index.EndPhys()) // Java's checkpoint does not speak of the index
	}
	return r.startBefore(need)
}

// boundary says that a record can begin at pos.
func (r *recovery) boundary(pos int64) (bool, error) {
	f := r.s.log.fileOf(pos)
	if f == nil {
		return false, nil
	}
	var rec record
	_, err := r.s.dispatch.scan.record(pos, f.End(), scanMode{crc: true, torn: true}, &rec)
	switch {
	case err == nil || err == errBlank:
		return true, nil
	case errors.Is(err, ErrCorrupt):
		return false, nil
	}
	return false, err
}

func (r *recovery) fileStart(pos int64) int64 {
	if f := r.s.log.fileOf(pos); f != nil {
		return f.Start()
	}
	return r.s.log.list()[0].Start()
}

// endsRecord says that the last message of some queue ends at pos, and that its record is whole.
func (r *recovery) endsRecord(pos int64) (bool, error) {
	s := r.s
	for _, topic := range s.cq.Topics() {
		for _, cq := range s.cq.Queues(topic) {
			if cq.MaxPhys() != pos {
				continue
			}
			var u [1]consumequeue.Unit
			_, end := cq.Range()
			if n, err := cq.Read(end-1, u[:]); n != 1 || err != nil {
				return false, err
			}
			return r.endsAt(u[0].PhysicalOffset, pos)
		}
	}
	return r.endsBatch(pos)
}

// endsAt says that the record at phys is whole and ends at pos. Its time becomes that of the last good record.
func (r *recovery) endsAt(phys, pos int64) (bool, error) {
	var rec record
	_, err := r.s.dispatch.scan.record(phys, pos, scanMode{crc: true}, &rec)
	if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotFound) && err != errBlank {
		return false, err
	}
	r.lastTime = rec.storeTime
	return err == nil && rec.phys+int64(rec.size) == pos, nil
}

// goodStart says that everything before file f was on disk at the checkpoint's time.
func (r *recovery) goodStart(f *mappedfile.File, stamp int64) (bool, error) {
	var rec record
	_, err := r.s.dispatch.scan.record(f.Start(), f.End(), scanMode{crc: true}, &rec)
	switch {
	case err == nil:
		return rec.storeTime != 0 && rec.storeTime <= stamp, nil
	case errors.Is(err, ErrCorrupt) || err == errBlank:
		return false, nil
	}
	return false, err
}

// finish sets all counters for a log that ends at end.
func (r *recovery) finish(end int64) error {
	s := r.s
	start := end
	if files := s.log.list(); len(files) > 0 {
		start = files[0].Start()
		last := files[len(files)-1]
		last.StartFill(end - last.Start())
	}
	s.log.end.Store(end)
	s.log.began = end
	s.log.prepareAt.Store(math.MinInt64)
	if now := s.o.Clock.Now(); r.lastTime > now.Add(clockSlack).UnixMilli() {
		s.o.Log.Warnf("the last message was stored %v in the future: the clock was set back", time.UnixMilli(r.lastTime).Sub(now))
	} else {
		s.log.lastTime.Store(r.lastTime)
	}
	s.flush.flushed.Store(end)
	s.flush.flushedTime.Store(r.lastTime)
	s.flush.written.Store(end)
	s.confirm.advance(end)
	s.dispatch.pos.Store(end)
	s.dispatch.gapEnd = end
	s.dispatch.time.Store(r.lastTime)
	if err := errors.Join(s.correctMin(start), s.dropped.cut(end)); err != nil {
		return err
	}
	s.mended = r.mendedRanges()
	s.loadQueues()
	if r.crashed || r.holes > 0 || r.records > 0 {
		s.o.Log.Infof("recovered the store in %v: read the log from %d to %d, %d records, %d holes",
			s.o.Clock.Now().Sub(r.started).Round(time.Millisecond), r.from, end, r.records, r.holes)
	}
	return nil
}

// loadQueues sets the counters of all queues to where these end.
func (s *Store) loadQueues() {
	for _, topic := range s.cq.Topics() {
		for _, cq := range s.cq.Queues(topic) {
			q := s.queues.get(topic, cq.ID())
			q.cq.Store(cq)
			_, q.next = cq.Range()
		}
	}
	s.loadBatches()
}
