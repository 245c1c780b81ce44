package conf

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// saveChanges writes changes into the file at path and returns what it now says. Only the lines of the changed keys differ
// afterwards; comments, order and unknown keys stay. The old text is kept as path.bak. A crash leaves the old or the new file.
func saveChanges(path string, changes []Change) (*Source, error) {
	old, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text, err := rewrite(old, changes)
	if err != nil {
		return nil, err
	}
	src, err := Parse(path, text)
	if err != nil {
		return nil, err
	}
	mode := os.FileMode(0o644)
	if st, err := os.Stat(path); err == nil {
		mode = st.Mode().Perm()
	}
	if err := replaceFile(path+".bak", old, mode); err != nil {
		return nil, err
	}
	if err := replaceFile(path, text, mode); err != nil {
		return nil, err
	}
	return src, nil
}

// rewrite replaces the last entry of each changed key in text, or appends one.
func rewrite(text []byte, changes []Change) ([]byte, error) {
	entries, err := ParseLatin1(text)
	if err != nil {
		return nil, err
	}
	lines := splitKeepEnds(text)
	eol := "\n"
	if len(lines) > 0 && bytes.HasSuffix(lines[0], []byte("\r\n")) {
		eol = "\r\n"
	}
	if n := len(lines); n > 0 && !bytes.ContainsAny(lines[n-1], "\r\n") {
		lines[n-1] = append(slices.Clip(lines[n-1]), eol...)
	}
	for _, c := range changes {
		now := []byte(formatEntry(c.Key, c.New) + eol)
		replaced := false
		for _, e := range slices.Backward(entries) {
			if e.Key != c.Key {
				continue
			}
			lines[e.Line-1] = now
			for i := e.Line; i < e.Last; i++ {
				lines[i] = nil
			}
			replaced = true
			break
		}
		if !replaced {
			lines = append(lines, now)
		}
	}
	return bytes.Join(lines, nil), nil
}

// splitKeepEnds splits as naturalLines does, terminators included.
func splitKeepEnds(text []byte) [][]byte {
	var lines [][]byte
	start := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '\n' && text[i] != '\r' {
			continue
		}
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i++
		}
		lines = append(lines, text[start:i+1])
		start = i + 1
	}
	if start < len(text) {
		lines = append(lines, text[start:])
	}
	return lines
}

// replaceFile writes a new file beside path, syncs it and moves it over path.
func replaceFile(path string, data []byte, mode os.FileMode) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", strings.TrimSuffix(path, ".bak"), err)
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
