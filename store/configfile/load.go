package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/fs"
)

// Suffixes of the files beside a table. On disk, do not change: ".bak" and ".tmp" are Java's.
const (
	BackupSuffix = ".bak"
	tempSuffix   = ".tmp"
	badSuffix    = ".bad"
)

// ErrCorrupt: neither the table nor its backup could be read, and at least one of them was there.
var ErrCorrupt = errors.New("configfile: not readable")

// Source says which file a table came from.
type Source uint8

// Sources of a table.
const (
	None   Source = iota // there is none yet
	Main                 // the table itself
	Backup               // F.bak, as the table was missing, empty or damaged
)

// String is the source in one word.
func (s Source) String() string {
	if int(s) < len(sourceNames) {
		return sourceNames[s]
	}
	return fmt.Sprintf("Source(%d)", uint8(s))
}

var sourceNames = [...]string{"none", "main", "backup"}

// Load reads the table at path, or its backup, into the pointer into, which may hold defaults and is left alone unless a
// whole table was read. No file at all is (None, nil). When files are there and none can be read it returns (None,
// ErrCorrupt), wrapped with what is wrong with each; into is untouched then, and the caller may go on with it.
func Load(f fs.FS, path string, into any) (Source, error) {
	src, _, err := load(f, path, into)
	return src, err
}

// load is Load; it also returns the text that was read.
func load(f fs.FS, path string, into any) (Source, []byte, error) {
	text, mainErr := read(f, path, into)
	if mainErr == nil {
		return Main, text, nil
	}
	if err := putAside(f, path, mainErr); err != nil {
		return None, nil, err
	}
	text, backupErr := read(f, path+BackupSuffix, into)
	switch {
	case backupErr == nil:
		return Backup, text, nil
	case absent(mainErr) && absent(backupErr):
		return None, nil, nil
	case errors.Is(mainErr, ErrCorrupt) || errors.Is(backupErr, ErrCorrupt):
		return None, nil, fmt.Errorf("load %s: %w; %w", path, mainErr, backupErr)
	case absent(mainErr):
		return None, nil, backupErr
	default:
		return None, nil, mainErr
	}
}

// errEmpty is an empty file: Java makes and leaves them, and they hold nothing to mourn.
var errEmpty = errors.New("empty file")

func absent(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, errEmpty) }

func read(f fs.FS, path string, into any) ([]byte, error) {
	text, err := fs.ReadFile(f, path)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("%s: %w", path, errEmpty)
	}
	if err := Decode(text, into); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}

// putAside moves a main file that could not be decoded out of the way of the next Save.
func putAside(f fs.FS, path string, why error) error {
	if !errors.Is(why, ErrCorrupt) {
		return nil
	}
	if err := f.Rename(path, path+badSuffix); err != nil {
		return fmt.Errorf("put %s aside: %w", path, err)
	}
	return nil
}

// Decode reads the text of a table into the pointer into: all of it, or nothing and ErrCorrupt. A text that is one JSON
// object is asked for, as all tables are; a damaged file that happens to be a number is not one.
func Decode(text []byte, into any) error {
	strict, err := protocol.NormalizeJSON(text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if trimmed := bytes.TrimSpace(strict); len(trimmed) == 0 || trimmed[0] != '{' {
		return fmt.Errorf("%w: not a JSON object", ErrCorrupt)
	}
	// Into a scratch value first, for a mistake in the middle must not leave half a table in into.
	scratch := reflect.New(reflect.TypeOf(into).Elem()).Interface()
	if err := protocol.UnmarshalFast(text, scratch); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err := protocol.UnmarshalFast(text, into); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}
