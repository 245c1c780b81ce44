package mappedfile

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/seedmq/seedmq/store/fs"
)

func TestView(t *testing.T) {
	o := Options{FS: fs.OS{}, Path: filepath.Join(t.TempDir(), "a"), Size: 2*windowSize + 100, Pool: NewPool(windowSize)}
	f := create(t, o)
	want := pattern(100, 1)
	if _, err := f.WriteAt(want, 2*windowSize); err != nil {
		t.Fatal(err)
	}
	var v View
	for _, off := range []int64{-1, o.Size} {
		if v.Show(f, off, true) {
			t.Errorf("shows offset %d", off)
		}
	}
	if !v.Show(f, 2*windowSize+50, true) {
		t.Fatal("does not show what was written")
	}
	if from, to := v.Range(); from != 2*windowSize || to != o.Size || !bytes.Equal(v.Bytes(), want) {
		t.Fatalf("shows %d to %d, %x", from, to, v.Bytes())
	}
	// The pool has room for one window: the next takes the place of the one that is shown, which stays until it is dropped.
	var other View
	if !other.Show(f, 0, true) {
		t.Fatal("no second view")
	}
	if !bytes.Equal(v.Bytes(), want) {
		t.Fatal("what is shown went with its window")
	}
	v.Drop()
	v.Drop()
	if from, to := v.Range(); to > from {
		t.Fatal("shows something after Drop")
	}
	other.Drop()
}

func TestViewOfNothing(t *testing.T) {
	f := create(t, Options{FS: fs.NewMem(nil), Path: "/a", Size: windowSize, Pool: NewPool(windowSize)})
	var v View
	if v.Show(f, 0, true) {
		t.Fatal("shows a file that has no mapping")
	}
}
