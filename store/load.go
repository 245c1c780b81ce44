package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/mappedfile"
)

// foundFile is a file of the log's folder, before anything is opened or changed.
type foundFile struct {
	start int64
	size  int64
}

// findFiles lists the log's files and refuses a folder that is not a log of one file size, which becomes the store's. It changes nothing.
// Folders and files of other names are left alone.
func (s *Store) findFiles(crashed bool) ([]foundFile, error) {
	list, err := s.fs.List(s.log.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var out []foundFile
	for _, i := range list {
		start, ok := parseFileName(i.Name)
		if !ok || i.Dir {
			continue
		}
		out = append(out, foundFile{start, i.Size})
	}
	if err := s.adoptSizes(out, crashed); err != nil {
		return nil, err
	}
	for n, f := range out {
		if err := s.checkFound(f, n == len(out)-1, crashed); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// checkFound refuses a file of the wrong size. A shorter one is damaged if the last stop was not clean: what it has
// lost is gone, the rest is kept. An empty last file is one that was just being made.
func (s *Store) checkFound(f foundFile, last, crashed bool) error {
	want := s.log.fileSize
	switch {
	case f.start%want != 0:
		return fmt.Errorf("%w: commit log file %020d: not a multiple of the file size %d", ErrUnsupported, f.start, want)
	case f.size > want, f.size < want && !crashed && (f.size > 0 || !last):
		return fmt.Errorf("%w: commit log file %020d has %d bytes, others %d", ErrUnsupported, f.start, f.size, want)
	}
	return nil
}

func parseFileName(name string) (int64, bool) {
	if len(name) != 20 {
		return 0, false
	}
	var n int64
	for i := range len(name) {
		c := name[i]
		if c < '0' || c > '9' || n > (1<<62)/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// refuseForeign refuses stores of kinds that this program does not know.
func (s *Store) refuseForeign() error {
	list, err := s.fs.List(s.o.Root)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, i := range list {
		if i.Dir && strings.HasPrefix(i.Name, "dledger-") {
			return fmt.Errorf("%w: %s holds a DLedger log", ErrUnsupported, filepath.Join(s.o.Root, i.Name))
		}
	}
	return nil
}

// openFiles opens the log's files. Short ones get their full length back, missing ones are made; what that adds are
// zeros, which recovery takes for a hole. An empty last file is removed.
func (s *Store) openFiles(found []foundFile) error {
	var files []*mappedfile.File
	defer func() { s.log.setList(files) }()
	for n, f := range found {
		if f.size == 0 && n == len(found)-1 && n > 0 {
			return s.fs.Remove(s.log.path(f.start))
		}
		for len(files) > 0 && files[len(files)-1].End() < f.start {
			lost := files[len(files)-1].End()
			s.o.Log.Errorf("commit log file %020d is missing", lost)
			made, err := s.log.create(lost)
			if err != nil {
				return err
			}
			files = append(files, made)
		}
		if f.size < s.log.fileSize {
			if err := s.lengthen(f); err != nil {
				return err
			}
		}
		opened, err := mappedfile.Open(s.log.options(f.start))
		if err != nil {
			return err
		}
		files = append(files, opened)
	}
	return nil
}

func (s *Store) lengthen(f foundFile) error {
	name := s.log.path(f.start)
	s.o.Log.Errorf("commit log file %s has %d bytes of %d", name, f.size, s.log.fileSize)
	file, err := s.fs.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(s.log.fileSize), file.Sync(), file.Close())
}

// tornDir takes what recovery cuts off or writes over. It stands beside the log's folder: Java accepts nothing else in it.
const tornDir = "torn"

// setAside copies the bytes of [from, to) of f that are not zeros at its ends to a file of their own, once: it is named
// after the log position of its first byte.
func (s *Store) setAside(f *mappedfile.File, from, to int64) error {
	from, to, err := nonZero(f, from, to)
	if err != nil || from == to {
		return err
	}
	dir := filepath.Join(s.o.Root, tornDir)
	if err := s.fs.MkdirAll(dir); err != nil {
		return err
	}
	name := filepath.Join(dir, fmt.Sprintf("%020d.torn", f.Start()+from))
	if _, err := s.fs.Stat(name); err == nil {
		return nil // from an earlier recovery that did not get to its end
	}
	s.o.Log.Warnf("keeping %d bytes from log position %d in %s", to-from, f.Start()+from, name)
	if err := copyOut(s.fs, f, from, to, name+".tmp"); err != nil {
		return err
	}
	if err := s.fs.Rename(name+".tmp", name); err != nil {
		return err
	}
	return s.fs.SyncDir(dir)
}

func copyOut(fsys fs.FS, f *mappedfile.File, from, to int64, name string) error {
	out, err := fsys.Create(name)
	if err != nil {
		return err
	}
	buf := make([]byte, min(scanBuffer, to-from))
	for at := from; at < to && err == nil; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), to-at)]
		if err = f.ReadAt(buf, at); err == nil {
			_, err = out.WriteAt(buf, at-from)
		}
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// nonZero narrows a range to what lies between its first and its last byte that is not zero.
func nonZero(f *mappedfile.File, from, to int64) (int64, int64, error) {
	first, last := to, from
	buf := make([]byte, min(scanBuffer, max(to-from, 0)))
	for at := from; at < to; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), to-at)]
		if err := f.ReadAt(buf, at); err != nil {
			return 0, 0, err
		}
		lo, hi := 0, len(buf)
		for hi > 0 && buf[hi-1] == 0 {
			hi--
		}
		if hi == 0 {
			continue
		}
		for buf[lo] == 0 {
			lo++
		}
		first, last = min(first, at+int64(lo)), at+int64(hi)
	}
	if first > last {
		return from, from, nil
	}
	return first, last, nil
}
