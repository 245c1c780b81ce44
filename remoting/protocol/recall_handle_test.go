package protocol

import (
	"strings"
	"testing"
)

func TestRecallHandleIsJavas(t *testing.T) {
	const text = "djEgSlRvcGljIGJyb2tlci1nIDE3OTYwNDk3ODYwMDEgRkQwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDI3RTYyNEUwRTJGMkE5ODc3QzcwQzAwMEM="
	want := RecallHandle{"JTopic", "broker-g", 1796049786001, "FD0000000000000000000000000000027E624E0E2F2A9877C70C000C", false}
	h, err := ParseRecallHandle(text)
	if err != nil || h != want {
		t.Fatal(h, err)
	}
	if got := string(h.Append(nil)); got != text {
		t.Fatal(got)
	}
}

// FuzzRecallHandle: what is taken as a handle is one that Append makes, up to padding.
func FuzzRecallHandle(f *testing.F) {
	good := RecallHandle{"T", "b", 1_700_000_000_001, "K", false}
	f.Add(string(good.Append(nil)))
	good.Level = true
	f.Add(string(good.Append(nil)))
	f.Add("djEg")
	f.Add("====")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseRecallHandle(text)
		if err != nil {
			return
		}
		again, err := ParseRecallHandle(string(h.Append(nil)))
		if err != nil || again != h || strings.ContainsRune(h.Topic+h.Broker+h.UniqKey, ' ') {
			t.Fatalf("%q: %+v, %+v %v", text, h, again, err)
		}
	})
}
