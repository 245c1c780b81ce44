package timer

import (
	"errors"
	"fmt"
	"os"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/fs"
)

// CheckSize is the length of the check point's file.
const CheckSize = 4096

// checkUsed is how much of it is used.
const checkUsed = 56

// DecodeCheck reads the content of a check point's file. ErrCorrupt for numbers that cannot be.
func DecodeCheck(b []byte) (c protocol.TimerCheckpoint, err error) {
	if len(b) < checkUsed {
		return c, fmt.Errorf("%w: check point of the timers has %d bytes", ErrCorrupt, len(b))
	}
	if err := c.Decode(b[:checkUsed]); err != nil {
		return c, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if c.LastReadTimeMs < 0 || c.LastReadTimeMs > maxTime || c.LastTimerLogFlushPos < 0 || c.LastTimerQueueOffset < 0 || c.MasterTimerQueueOffset < 0 {
		return protocol.TimerCheckpoint{}, fmt.Errorf("%w: check point of the timers: %+v", ErrCorrupt, c)
	}
	return c, nil
}

// loadCheck reads the file; known is false when there is none or nothing was written to it.
func loadCheck(f fs.FS, name string) (c protocol.TimerCheckpoint, known bool, err error) {
	b, err := fs.ReadFile(f, name)
	if errors.Is(err, os.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	if c, err = DecodeCheck(b); err != nil {
		return c, false, err
	}
	return c, c.LastReadTimeMs > 0, nil
}

// checkFile is the open file. Its content lies in one sector, which a disk writes whole or not at all.
type checkFile struct {
	fs   fs.FS
	name string
	file fs.File
}

func (c *checkFile) write(v protocol.TimerCheckpoint) error {
	if c.file == nil {
		if err := c.open(); err != nil {
			return err
		}
	}
	if _, err := c.file.WriteAt(v.Append(nil), 0); err != nil {
		return err
	}
	return c.file.Datasync()
}

func (c *checkFile) open() (err error) {
	if c.file, err = openSized(c.fs, c.name, CheckSize); err != nil {
		c.file = nil
	}
	return err
}

// openSized opens or makes a file of a length, and makes its name durable.
func openSized(f fs.FS, name string, size int64) (fs.File, error) {
	if err := f.MkdirAll(dirOf(name)); err != nil {
		return nil, err
	}
	file, err := f.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Size != size {
		err = file.Truncate(size)
	}
	if err == nil {
		err = f.SyncDir(dirOf(name))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
