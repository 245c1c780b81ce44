package consumequeue

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/seedmq/seedmq/store/fs"
)

// A snapshot spares a set of very many queues the reading of as many folders at the next start, which takes seconds if
// they are not in the page cache. Close leaves it beside Dir, Open takes it away. It counts only if the last stop was
// clean and the store's checkpoint file is, byte for byte, what it was then. Java ignores it.
//
// Should a Java broker have run in between without a message, it may have removed queues or their first files; what is
// missing then shows as ErrNotFound, and appending makes it anew.
//
//	"seedmq queues 1\n"   sha256 of the checkpoint   u32 units per file   u32 topics
//	  per topic: u16 length, name, u32 queues
//	    per queue: u32 id, i64 base, fileEnd, min, max, maxPhys, minPhys
//	u32 CRC-32 of all that
//
// On disk, do not change; a new layout gets a new first line.
const (
	snapshotMagic = "seedmq queues 1\n"
	snapshotName  = ".snapshot" // added to Dir
	tokenName     = "checkpoint"
)

func (s *Set) snapshotPath() string { return filepath.Clean(s.opt.Dir) + snapshotName }

// snapshotToken is what must not change between Close and Open.
func (s *Set) snapshotToken() ([]byte, error) {
	b, err := fs.ReadFile(s.fs, filepath.Join(filepath.Dir(filepath.Clean(s.opt.Dir)), tokenName))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return sum[:], nil
}

// saveSnapshot leaves a snapshot if there are enough queues, all of them flushed.
func (s *Set) saveSnapshot() error {
	if n := s.Len(); s.opt.SnapshotFrom < 0 || n < s.opt.SnapshotFrom {
		return nil
	}
	token, err := s.snapshotToken()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	b := append([]byte(snapshotMagic), token...)
	b = binary.BigEndian.AppendUint32(b, uint32(s.fileUnits))
	topics := s.Topics()
	b = binary.BigEndian.AppendUint32(b, uint32(len(topics)))
	for _, topic := range topics {
		b = s.appendTopic(b, topic)
	}
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return s.writeSnapshot(b)
}

func (s *Set) appendTopic(b []byte, topic string) []byte {
	qs := s.Queues(topic)
	b = binary.BigEndian.AppendUint16(b, uint16(len(topic)))
	b = append(b, topic...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(qs)))
	for _, q := range qs {
		q.mu.Lock()
		b = binary.BigEndian.AppendUint32(b, uint32(q.id))
		for _, n := range []int64{q.base, q.fileEnd, q.min.Load(), q.max.Load(), q.maxPhys.Load(), q.minPhys} {
			b = binary.BigEndian.AppendUint64(b, uint64(n))
		}
		q.mu.Unlock()
	}
	return b
}

func (s *Set) writeSnapshot(b []byte) error {
	temp := s.snapshotPath() + ".tmp"
	f, err := s.fs.Create(temp)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := s.fs.Rename(temp, s.snapshotPath()); err != nil {
		return err
	}
	return s.fs.SyncDir(filepath.Dir(s.snapshotPath()))
}

// takeSnapshot removes the snapshot and installs what it says. It says whether it did; if not, the folders must be read.
func (s *Set) takeSnapshot() (bool, error) {
	b, err := fs.ReadFile(s.fs, s.snapshotPath())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := s.fs.Remove(s.snapshotPath()); err != nil {
		return false, err
	}
	if s.opt.AfterCrash {
		return false, nil
	}
	token, err := s.snapshotToken()
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if _, err := s.fs.Stat(filepath.Join(s.opt.Dir, "CURRENT")); err == nil {
		return false, nil // a database took the folder over
	}
	l := loader{s: s}
	if err := l.decodeSnapshot(b, token); err != nil {
		s.log.Warnf("%s is of no use: %v", s.snapshotPath(), err)
		return false, nil
	}
	l.install()
	return true, nil
}

var errSnapshot = errors.New("damaged, or of another store")

// decodeSnapshot fills l with what a snapshot says, if it is whole and has the token.
func (l *loader) decodeSnapshot(b, token []byte) error {
	head := append([]byte(snapshotMagic), token...)
	head = binary.BigEndian.AppendUint32(head, uint32(l.s.fileUnits))
	if len(b) < len(head)+8 || !bytes.Equal(b[:len(head)], head) {
		return errSnapshot
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.ChecksumIEEE(body) != sum {
		return errSnapshot
	}
	c := cursor{b: body[len(head):]}
	for topics := c.u32(); topics > 0 && c.err == nil; topics-- {
		l.decodeTopic(&c)
	}
	if c.err == nil && len(c.b) > 0 {
		c.err = errSnapshot
	}
	return c.err
}

func (l *loader) decodeTopic(c *cursor) {
	t := &topicQueues{name: string(c.take(int(c.u16())))}
	n := int(c.u32())
	if n*52 > len(c.b) {
		c.err = errSnapshot
		return
	}
	qs := make([]*Queue, 0, n)
	for range n {
		q := l.s.newQueue(t.name, int32(c.u32()))
		q.topic = t
		base, fileEnd, first, next := c.i64(), c.i64(), c.i64(), c.i64()
		q.base, q.fileEnd, q.blank = base, fileEnd, noBlank
		q.resetLocked(next)
		q.min.Store(first)
		q.maxPhys.Store(c.i64())
		q.minPhys = c.i64()
		if fileEnd == base {
			q.blank = base
		}
		possible := checkName(t.name, q.id) == nil && base >= 0 && first >= base && next >= first && fileEnd >= base && (next <= fileEnd || fileEnd == base)
		if c.err == nil && !possible {
			c.err = fmt.Errorf("%w: %s/%d", errSnapshot, t.name, q.id)
		}
		qs = append(qs, q)
	}
	sortByID(qs)
	t.queues.Store(&qs)
	l.mu.topics = append(l.mu.topics, t)
	l.mu.report.Queues += len(qs)
}

// cursor reads and remembers a failure.
type cursor struct {
	b   []byte
	err error
}

func (c *cursor) take(n int) []byte {
	if n > len(c.b) {
		c.err, c.b = errSnapshot, nil
		return make([]byte, n)
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out
}

func (c *cursor) u16() uint16 { return binary.BigEndian.Uint16(c.take(2)) }
func (c *cursor) u32() uint32 { return binary.BigEndian.Uint32(c.take(4)) }
func (c *cursor) i64() int64  { return int64(binary.BigEndian.Uint64(c.take(8))) }
