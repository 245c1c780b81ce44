package configfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seedmq/seedmq/store/fs"
)

// prettyLimit is the size up to which a table is indented for people to read.
const prettyLimit = 1 << 20

// Encode is the text of a table: indented when it is small. A v of type []byte or json.RawMessage is taken as it is.
func Encode(v any) ([]byte, error) {
	switch text := v.(type) {
	case []byte:
		return text, nil
	case json.RawMessage:
		return text, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	compact := bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
	if len(compact) > prettyLimit {
		return compact, nil
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, compact, "", "\t"); err != nil {
		return nil, err
	}
	return pretty.Bytes(), nil
}

// Save replaces the table at path by v and makes it durable; the old one becomes path.bak. The folder is made if needed.
// On an error the table or its backup is whole still, and Save may be tried again.
func Save(f fs.FS, path string, v any) error {
	text, err := Encode(v)
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	if err := replace(f, path, text); err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	return nil
}

func replace(f fs.FS, path string, text []byte) error {
	temp := path + tempSuffix
	err := writeFile(f, temp, text)
	if errors.Is(err, os.ErrNotExist) {
		if err := f.MkdirAll(filepath.Dir(path)); err != nil {
			return err
		}
		err = writeFile(f, temp, text)
	}
	if err != nil {
		return err
	}
	// An empty table is worth less than the backup that it would replace.
	if old, err := f.Stat(path); err == nil && old.Size > 0 {
		if err := f.Rename(path, path+BackupSuffix); err != nil {
			return err
		}
	}
	if err := f.Rename(temp, path); err != nil {
		return err
	}
	return f.SyncDir(filepath.Dir(path))
}

func writeFile(f fs.FS, name string, text []byte) error {
	file, err := f.Create(name)
	if err != nil {
		return err
	}
	if _, err := file.WriteAt(text, 0); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Sync(); err != nil {
		return errors.Join(err, file.Close())
	}
	return file.Close()
}
