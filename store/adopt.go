package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seedmq/seedmq/store/consumequeue"
	"github.com/seedmq/seedmq/store/index"
)

// sampleQueues is how many queues are looked at to learn the size of their files.
const sampleQueues = 16

// adoptSizes takes over the file sizes that the store was made with, for a store cannot change them. It changes nothing on
// disk. What is neither of one size nor explained by a crash is left to the checks that follow.
func (s *Store) adoptSizes(log []foundFile, crashed bool) error {
	var changes []string
	note := func(key string, from, to int64) {
		if from != to {
			changes = append(changes, fmt.Sprintf("%s %d instead of %d", key, to, from))
		}
	}
	size := ownSize(log, s.log.fileSize, crashed)
	note("mappedFileSizeCommitLog", s.log.fileSize, size)
	s.log.fileSize, s.o.CommitLogFileSize = size, size

	units, err := s.queueUnits()
	if err != nil {
		return err
	}
	note("mappedFileSizeConsumeQueue", consumequeue.UnitSize*int64(s.o.QueueFileUnits), consumequeue.UnitSize*int64(units))
	s.o.QueueFileUnits = units

	if s.o.BatchFileUnits, err = s.batchFileUnits(); err != nil {
		return err
	}
	shape, err := s.indexShape()
	if err != nil {
		return err
	}
	note("maxHashSlotNum", int64(s.o.IndexSlots), int64(shape.Slots))
	note("maxIndexNum", int64(s.o.IndexEntries), int64(shape.Entries))
	s.o.IndexSlots, s.o.IndexEntries = int(shape.Slots), int(shape.Entries)
	if len(changes) > 0 {
		s.o.Log.Warnf("the store keeps the file sizes that it was made with: %s", strings.Join(changes, ", "))
	}
	return nil
}

// ownSize is the size of the log's files. After a crash a shorter one may be damaged, so it takes two of one size, or a
// name, to believe that the store's size is less than the configured one.
func ownSize(found []foundFile, configured int64, crashed bool) int64 {
	var largest int64
	same, fits := 0, true
	for _, f := range found {
		if f.size > largest {
			largest, same = f.size, 0
		}
		if f.size == largest {
			same++
		}
		fits = fits && f.start%configured == 0
	}
	if largest < 1024 || largest > 1<<31-1 || largest < configured && crashed && same < 2 && fits {
		return configured
	}
	for _, f := range found {
		if f.start%largest != 0 {
			return configured
		}
	}
	return largest
}

// queueUnits is the number of units of the consume queue files, the configured one unless none has it and all that are
// looked at agree on another.
func (s *Store) queueUnits() (int, error) {
	configured := int64(s.o.QueueFileUnits) * consumequeue.UnitSize
	size, left := int64(0), sampleQueues
	err := s.eachFile(s.path("consumequeue"), 2, &left, func(n int64) {
		switch {
		case n == configured || size != 0 && n != size:
			size = configured
		case n > 0 && n%consumequeue.UnitSize == 0 && size == 0:
			size = n
		}
	})
	if size == 0 || size%consumequeue.UnitSize != 0 || size/consumequeue.UnitSize > 1<<31-1 {
		size = configured
	}
	return int(size / consumequeue.UnitSize), err
}

// indexShape is the configured one unless all index files have another size, of a file with four entries to a slot as
// Java's are.
func (s *Store) indexShape() (index.Shape, error) {
	configured := index.Shape{Slots: int32(s.o.IndexSlots), Entries: int32(s.o.IndexEntries)}
	size, left := int64(0), sampleQueues
	err := s.eachFile(s.path("index"), 0, &left, func(n int64) {
		switch {
		case n == configured.FileSize() || size != 0 && n != size:
			size = configured.FileSize()
		case size == 0:
			size = n
		}
	})
	slots := (size - index.HeaderSize) / (index.Shape{Slots: 1, Entries: 4}.FileSize() - index.HeaderSize)
	own := index.Shape{Slots: int32(slots), Entries: int32(4 * slots)}
	if size == configured.FileSize() || slots < 1 || slots > 1<<28 || own.FileSize() != size {
		return configured, err
	}
	return own, err
}

// eachFile calls fn with the sizes of the files that are depth folders below dir, of at most *left folders.
func (s *Store) eachFile(dir string, depth int, left *int, fn func(size int64)) error {
	list, err := s.fs.List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, i := range list {
		switch {
		case *left <= 0 || err != nil:
			return err
		case i.Dir && depth > 0:
			err = s.eachFile(filepath.Join(dir, i.Name), depth-1, left, fn)
		case !i.Dir && depth == 0:
			fn(i.Size)
		}
	}
	if depth == 0 {
		*left--
	}
	return err
}
