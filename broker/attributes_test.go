package broker

import (
	"maps"
	"strings"
	"testing"
)

func TestAlterAttributes(t *testing.T) {
	for _, x := range []struct {
		create bool
		now    map[string]string
		text   string
		want   map[string]string
		wrong  string
	}{
		{true, nil, "", map[string]string{}, ""},
		{true, nil, "+queue.type=BatchCQ,+cleanup.policy=COMPACTION", map[string]string{"queue.type": "BatchCQ", "cleanup.policy": "COMPACTION"}, ""},
		{false, map[string]string{"message.type": "FIFO", "reserve.time": "3"}, "-message.type,+reserve.time=-1", map[string]string{"reserve.time": "-1"}, ""},
		{false, map[string]string{"x": "kept"}, "+message.type=NORMAL", map[string]string{"x": "kept", "message.type": "NORMAL"}, ""},
		{false, nil, "+reserve.time=9223372036854775807", map[string]string{"reserve.time": "9223372036854775807"}, ""},
		{false, nil, "+reserve.time=9223372036854775808", nil, "not in range"},
		{false, nil, "+lite.topic.expiration=31", nil, "not in range(-1, 30)"},
		{false, nil, "+=x", nil, "wrong format"},
		{false, nil, "-", nil, "wrong format"},
		{false, nil, ",", nil, "format is wrong"},
	} {
		changes, err := parseAttributes(x.text)
		var got map[string]string
		if err == nil {
			got, err = alterAttributes(topicAttributes, x.create, x.now, changes)
		}
		switch {
		case x.wrong == "" && (err != nil || !maps.Equal(got, x.want)):
			t.Errorf("%q on %v: %v %v, want %v", x.text, x.now, got, err, x.want)
		case x.wrong != "" && (err == nil || !strings.Contains(err.Error(), x.wrong)):
			t.Errorf("%q on %v: %v %v, want %q", x.text, x.now, got, err, x.wrong)
		}
	}
}

func FuzzParseAttributes(f *testing.F) {
	for _, s := range []string{"", "+a=b", "-a", "+a=b,-c", "+a", "a=b", ",", "+=,-", "+queue.type=BatchCQ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		changes, err := parseAttributes(s)
		if err != nil {
			return
		}
		if out, err := alterAttributes(topicAttributes, true, nil, changes); err == nil {
			for k := range out {
				if _, known := topicAttributes[k]; !known {
					t.Fatalf("%q sets %q", s, k)
				}
			}
		}
	})
}
