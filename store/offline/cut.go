package offline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/checkpoint"
	"github.com/seedmq/seedmq/store/fs"
)

// ErrPosition: the log cannot be cut there.
var ErrPosition = errors.New("the log cannot be cut there")

// Cut removes everything from log position at on, where a record must begin or the log end: the bytes are kept in torn/,
// queues and index are cut to what is left. The offsets that consumers have committed stay as they are.
func Cut(o Options, at int64) (*Result, error) {
	o = o.withDefaults()
	l, unlock, err := lookLocked(o)
	if err != nil {
		return nil, err
	}
	defer unlock()
	lastTime, err := cuttable(o, l, at)
	if err != nil {
		return nil, err
	}
	delays, err := delayLevels(o, l)
	if err != nil {
		return nil, err
	}
	values, err := lowered(o, at, lastTime)
	if err != nil {
		return nil, err
	}
	if err := crashed(o, values); err != nil {
		return nil, err
	}
	res := &Result{}
	if err := res.cutFiles(o, l, at); err != nil {
		return nil, err
	}
	unlock()
	if err := res.recover(o, l, delays, len(l.IndexFiles) > 0); err != nil {
		return res, err
	}
	if res.End != at {
		return res, fmt.Errorf("the log ends at %d now, not at %d: run a check", res.End, at)
	}
	return res, nil
}

// cuttable makes sure that a record begins at at, or that the log ends there, and returns the store time of the last
// record before it in the same file, 0 if there is none.
func cuttable(o Options, l *Layout, at int64) (lastTime int64, err error) {
	if len(l.LogFiles) == 0 {
		return 0, fmt.Errorf("%w: there is no log", ErrPosition)
	}
	first, end := l.LogFiles[0].Start, l.LogFiles[len(l.LogFiles)-1].Start+l.LogFileSize
	if at < first || at > end {
		return 0, fmt.Errorf("%w: %d is not between %d and %d", ErrPosition, at, first, end)
	}
	r := newLogReader(o, l)
	defer r.close()
	var v protocol.MessageView
	for pos := at - at%l.LogFileSize; pos < at; {
		from := pos
		switch err := r.record(pos, &v); {
		case err == nil:
			lastTime = max(lastTime, v.StoreTimestamp)
			pos += int64(v.Size)
		case err == errBlank:
			pos += l.LogFileSize - pos%l.LogFileSize
		case isBad(err):
			next, ok, err := r.find(pos, end, 0, 0)
			if err != nil {
				return 0, err
			}
			if !ok {
				return 0, fmt.Errorf("%w: there is no good record from %d on", ErrPosition, pos)
			}
			pos = next
		default:
			return 0, err
		}
		if pos > at {
			return 0, fmt.Errorf("%w: no record begins at %d, but at %d and %d", ErrPosition, at, from, pos)
		}
	}
	return lastTime, nil
}

// lowered is the checkpoint for a log that ends at at.
func lowered(o Options, at, lastTime int64) (checkpoint.Values, error) {
	b, err := fs.ReadFile(o.FS, o.path(checkName))
	if errors.Is(err, os.ErrNotExist) {
		return checkpoint.Values{}, nil
	}
	if err != nil {
		return checkpoint.Values{}, err
	}
	v, err := checkpoint.Decode(b)
	if err != nil {
		return checkpoint.Values{}, nil // it counts for nothing
	}
	v.PhysicMsgTimestamp = min(v.PhysicMsgTimestamp, lastTime)
	v.LogicsMsgTimestamp = min(v.LogicsMsgTimestamp, lastTime)
	v.IndexMsgTimestamp = min(v.IndexMsgTimestamp, lastTime)
	v.LogicsPhyOffset = min(v.LogicsPhyOffset, at)
	v.MasterFlushedOffset = min(v.MasterFlushedOffset, at)
	v.ConfirmPhyOffset = min(v.ConfirmPhyOffset, at)
	return v, nil
}

// cutFiles cuts the log's files, the last one first, so that at any moment the log is whole up to where it ends.
func (res *Result) cutFiles(o Options, l *Layout, at int64) error {
	if err := o.FS.MkdirAll(o.path(tornDir)); err != nil {
		return err
	}
	for i := len(l.LogFiles) - 1; i >= 0 && l.LogFiles[i].Start+l.LogFileSize > at; i-- {
		f := l.LogFiles[i]
		from := max(at-f.Start, 0)
		name := logFileName(o.CommitLogDir, f.Start)
		var err error
		if from == 0 && i > 0 {
			err = res.takeAway(o, name, f.Start)
		} else if err = res.keep(o, name, from, f.Start+from); err == nil {
			err = zeroFrom(o.FS, name, from, l.LogFileSize)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeAway moves a whole file to torn/, or removes it when it is all zeros.
func (res *Result) takeAway(o Options, name string, pos int64) error {
	used, err := hasData(o.FS, name)
	if err != nil {
		return err
	}
	if used {
		to := asideName(o, pos)
		switch err := o.FS.Rename(name, to); {
		case err == nil:
			res.Aside = append(res.Aside, to)
			return errors.Join(o.FS.SyncDir(o.path(tornDir)), o.FS.SyncDir(o.CommitLogDir))
		case !errors.Is(err, syscall.EXDEV):
			return err
		}
		if err := res.keep(o, name, 0, pos); err != nil { // torn/ is on another disk than the log
			return err
		}
	}
	return errors.Join(o.FS.Remove(name), o.FS.SyncDir(o.CommitLogDir))
}

// hasData says that a file has a byte that is not zero.
func hasData(f fs.FS, name string) (bool, error) {
	file, err := f.Open(name)
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	buf := make([]byte, readAtOnce)
	for at := int64(0); at < info.Size; at += readAtOnce {
		if err := readFull(file, buf, at); err != nil || !allZero(buf) {
			return err == nil, err
		}
	}
	return false, nil
}

func asideName(o Options, pos int64) string {
	return freeName(o.FS, filepath.Join(o.path(tornDir), fmt.Sprintf("%020d.cut", pos)))
}

// keep copies what a file has from an offset on to torn/, named after its log position. Zeros are not worth it.
func (res *Result) keep(o Options, name string, from, pos int64) error {
	in, err := o.FS.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	buf := make([]byte, readAtOnce)
	var out fs.File
	for at := from; at < info.Size && err == nil; at += readAtOnce {
		part := buf[:min(readAtOnce, info.Size-at)]
		if err = readFull(in, part, at); err != nil || allZero(part) {
			continue
		}
		if out == nil {
			aside := asideName(o, pos)
			if out, err = o.FS.Create(aside); err != nil {
				return err
			}
			res.Aside = append(res.Aside, aside)
		}
		_, err = out.WriteAt(part, at-from)
	}
	if out != nil {
		if err == nil {
			err = out.Sync()
		}
		err = errors.Join(err, out.Close(), o.FS.SyncDir(o.path(tornDir)))
	}
	return err
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// zeroFrom makes zeros of what a file has from an offset on. It never gets shorter, not even for a moment: its length is
// how others know the size of the log's files.
func zeroFrom(f fs.FS, name string, from, size int64) error {
	file, err := f.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = file.Truncate(size) // one that was short
	buf, zeros := make([]byte, readAtOnce), make([]byte, readAtOnce)
	for at := from; at < size && err == nil; at += readAtOnce {
		part := buf[:min(readAtOnce, size-at)]
		if err = readFull(file, part, at); err == nil && !allZero(part) {
			_, err = file.WriteAt(zeros[:len(part)], at)
		}
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
