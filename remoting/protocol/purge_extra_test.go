package protocol

import (
	"errors"
	"strconv"
	"strings"
	"testing"
)

func decodePurge(topic, queue, before, preview string) (*PurgeTopicRequestHeader, error) {
	var ext ExtFields
	for _, f := range [][2]string{{"topic", topic}, {"queueId", queue}, {"before", before}, {"preview", preview}} {
		if f[1] != "" {
			ext = append(ext, ExtField{Key: f[0], Value: f[1]})
		}
	}
	h := new(PurgeTopicRequestHeader)
	return h, h.DecodeExt(ext)
}

func TestPurgeTopicHeader(t *testing.T) {
	want := PurgeTopicRequestHeader{Topic: "T", QueueID: Some(int32(3)), Before: Some(int64(1796050400000)), Preview: true}
	if h, err := decodePurge("T", "3", "1796050400000", "true"); err != nil || *h != want {
		t.Errorf("%+v, %v", h, err)
	}
	cmd := new(Command)
	if err := DecodeFrame(AppendFrame(nil, NewRequest(ReqPurgeTopic, &want, nil))[4:], cmd); err != nil {
		t.Fatal(err)
	}
	var back PurgeTopicRequestHeader
	if err := back.DecodeExt(cmd.Ext); err != nil || back != want {
		t.Errorf("%+v, %v", back, err)
	}
	if h, err := decodePurge("T", "", "", ""); err != nil || *h != (PurgeTopicRequestHeader{Topic: "T"}) {
		t.Errorf("%+v, %v", h, err)
	}
	for _, x := range []struct{ topic, queue, before, says string }{
		{"", "1", "", "topic"}, {"T", "one", "", "queueId"}, {"T", "3000000000", "", "queueId"}, {"T", "", "1e3", "before"},
	} {
		_, err := decodePurge(x.topic, x.queue, x.before, "")
		var field *FieldError
		if !errors.As(err, &field) || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%+v: %v", x, err)
		}
	}
	for code := range requestNames {
		if code == int32(ReqPurgeTopic) {
			t.Error("the code is Java's", code)
		}
	}
}

// FuzzPurgeTopicHeader: what is taken is what the texts say.
func FuzzPurgeTopicHeader(f *testing.F) {
	f.Add("T", "1", "2", "true")
	f.Add("", "-1", "", "")
	f.Add("T", "99999999999", "x", "TRUE")
	f.Fuzz(func(t *testing.T, topic, queue, before, preview string) {
		h, err := decodePurge(topic, queue, before, preview)
		if err != nil {
			return
		}
		n, _ := strconv.ParseInt(queue, 10, 32)
		ms, _ := strconv.ParseInt(before, 10, 64)
		if h.Topic != topic || int64(h.QueueID.Or(0)) != n || h.Before.Or(0) != ms || h.Preview && preview != "true" {
			t.Errorf("%q %q %q %q: %+v", topic, queue, before, preview, h)
		}
	})
}
