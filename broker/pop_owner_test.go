package broker_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/broker/pop"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/fs"
)

// popStore is a store in memory that brokers open one after the other.
type popStore struct {
	t    *testing.T
	disk *fs.Mem
	*popClient
	b *brokertest.Broker
}

func (s *popStore) start() {
	s.t.Helper()
	s.b = brokertest.StartIn(s.t, "/store", func(o *broker.Options) { o.FS = s.disk })
	s.b.Broken = true
	s.popClient = newPopClient(s.t, s.b, "P", "G")
}

func (s *popStore) kill() {
	was := s.b
	s.disk = s.disk.Reboot()
	was.Stop(s.t)
}

// stop is a clean stop.
func (s *popStore) stop() {
	s.b.Stop(s.t)
	s.disk = s.disk.Reboot()
}

// popSome pops n messages of queue 0 at once.
func (s *popStore) popSome(n int32) []popped {
	s.t.Helper()
	var list []popped
	brokertest.Until(s.t, "messages", func() error {
		h := s.header(0, time.Minute)
		h.MaxMsgNums = n
		var r *protocol.Command
		if list, _, r = s.pop(h); len(list) != int(n) {
			return fmt.Errorf("%d of %d, code %d %s", len(list), n, r.Code, r.Remark)
		}
		return nil
	})
	return list
}

// journal takes the files of the journal away.
func (s *popStore) journal() map[string][]byte {
	s.t.Helper()
	files, err := s.disk.List(pop.JournalDir("/store"))
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		name := pop.JournalDir("/store") + "/" + f.Name
		data, err := fs.ReadFile(s.disk, name)
		if err := errors.Join(err, s.disk.Remove(name)); err != nil {
			s.t.Fatal(err)
		}
		out[name] = data
	}
	return out
}

// TestAnotherBrokerAfterAKill: after a kill of ours another broker, which takes no notice of the journal, had the store, and the topic was deleted and
// made again. Nothing of the new topic is skipped when ours comes back.
func TestAnotherBrokerAfterAKill(t *testing.T) {
	s := &popStore{t: t, disk: fs.NewMem(nil)}
	s.start()
	s.topicOf("P")
	s.topUp("P", "old", 20)
	s.mustAck(s.popSome(15)...)
	s.popSome(5)
	s.kill()
	left := s.journal()
	if len(left) != 1 {
		t.Fatalf("%d files of a journal after a kill", len(left))
	}

	s.start() // the other broker
	s.Must(protocol.ReqDeleteTopicInBroker, &protocol.DeleteTopicInBrokerRequestHeader{Topic: "P"}, nil, nil)
	s.topicOf("P")
	s.topUp("P", "new", 18)
	s.stop()
	for name, data := range left {
		f, err := s.disk.Create(name)
		if err == nil {
			_, err = f.WriteAt(data, 0)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}

	s.start()
	for _, m := range s.popSome(18) {
		if string(m.Body) != "new" {
			t.Fatalf("got %q", m.Body)
		}
	}
	s.kill()
	s.start() // and now the journal is ours again
	if list, _, r := s.pop(s.header(-1, time.Minute)); len(list) != 0 {
		t.Fatalf("%d messages, code %d: what is open was popped again", len(list), r.Code)
	}
	s.stop()
}
