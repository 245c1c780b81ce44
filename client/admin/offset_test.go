package admin

import (
	"errors"
	"slices"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
)

func queue(broker string, id int32) protocol.MessageQueue {
	return protocol.MessageQueue{Topic: "T", BrokerName: broker, QueueID: id}
}

func onStats(t testing.TB, f *fakeCluster, of map[string]protocol.OffsetWrapper) {
	f.on(protocol.ReqGetConsumeStats, func(addr string, _ *protocol.Command) *protocol.Command {
		s := &protocol.ConsumeStats{ConsumeTps: 1.5, OffsetTable: protocol.MessageQueueMap[protocol.OffsetWrapper]{}}
		if o, ok := of[addr]; ok {
			s.OffsetTable[queue(addr[:1], 0)] = o
		}
		return body(t, s)
	})
}

func TestConsumeStatsOfAllBrokers(t *testing.T) {
	f, c := newCluster(t)
	onStats(t, f, map[string]protocol.OffsetWrapper{"a:1": {BrokerOffset: 10, ConsumerOffset: 4}, "b:1": {BrokerOffset: 3, ConsumerOffset: 1}})
	s, err := c.ConsumeStats(ctx, "g", "")
	if err != nil || len(s.OffsetTable) != 2 || TotalLag(s) != 8 || s.ConsumeTps != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	if got := f.asked(protocol.ReqGetConsumeStats); !slices.Equal(got, []string{"a:1", "b:1"}) {
		t.Errorf("asked %v", got)
	}
	onStats(t, f, nil)
	if _, err := c.ConsumeStats(ctx, "g", ""); !IsCode(err, protocol.RespConsumerNotOnline) {
		t.Errorf("a group without offsets: %v", err)
	}
	if _, err := c.ConsumeStats(ctx, "none", ""); !IsCode(err, protocol.RespTopicNotExist) {
		t.Errorf("a group without a retry topic: %v", err)
	}
}

func TestResetOffsets(t *testing.T) {
	f, c := newCluster(t)
	f.on(protocol.ReqInvokeBrokerToResetOffset, func(addr string, req *protocol.Command) *protocol.Command {
		if field(req, "timestamp") != "-1" || field(req, "queueId") != "-1" || field(req, "isForce") != "true" {
			t.Errorf("%v", req.Ext)
		}
		return body(t, &protocol.ResetOffsetBody{OffsetTable: protocol.MessageQueueMap[int64]{queue(addr[:1], 0): 5}})
	})
	offsets, err := c.ResetOffsets(ctx, "T", "g", LatestTime, true)
	if err != nil || len(offsets) != 2 || offsets[queue("b", 0)] != 5 {
		t.Errorf("%v, %v", offsets, err)
	}
}

func TestResetOffsetsOffline(t *testing.T) {
	f, c := newCluster(t)
	onStats(t, f, map[string]protocol.OffsetWrapper{"a:1": {BrokerOffset: 10, ConsumerOffset: 4}})
	at := "7"
	offset := func(string, *protocol.Command) *protocol.Command {
		return &protocol.Command{Ext: protocol.ExtFields{{Key: "offset", Value: at}}}
	}
	f.on(protocol.ReqSearchOffsetByTimestamp, offset)
	f.on(protocol.ReqGetMaxOffset, offset)
	f.on(protocol.ReqUpdateConsumerOffset, func(_ string, req *protocol.Command) *protocol.Command {
		if field(req, "commitOffset") != at {
			t.Errorf("committed %v", req.Ext)
		}
		return &protocol.Command{}
	})
	rows, err := c.ResetOffsetsOffline(ctx, "T", "g", 123, false)
	if want := (Rollback{queue("a", 0), 10, 4, 7, 4}); err != nil || len(rows) != 1 || rows[0] != want {
		t.Errorf("forwards without force: %+v, %v", rows, err)
	}
	if n := len(f.asked(protocol.ReqUpdateConsumerOffset)); n != 0 {
		t.Errorf("%d commits without force", n)
	}
	if rows, err = c.ResetOffsetsOffline(ctx, "T", "g", LatestTime, true); err != nil || rows[0].RollbackOffset != 7 || len(f.asked(protocol.ReqUpdateConsumerOffset)) != 1 {
		t.Errorf("with force: %+v, %v", rows, err)
	}
	at = "2"
	if rows, err = c.ResetOffsetsOffline(ctx, "T", "g", 123, false); err != nil || rows[0].RollbackOffset != 2 {
		t.Errorf("backwards: %+v, %v", rows, err)
	}
}

func TestCloneOffsets(t *testing.T) {
	f, c := newCluster(t)
	onStats(t, f, map[string]protocol.OffsetWrapper{"a:1": {ConsumerOffset: 4}, "b:1": {ConsumerOffset: 1}})
	f.on(protocol.ReqUpdateConsumerOffset, func(_ string, req *protocol.Command) *protocol.Command {
		if field(req, "consumerGroup") != "to" {
			t.Errorf("%v", req.Ext)
		}
		return &protocol.Command{}
	})
	if err := c.CloneOffsets(ctx, "from", "to", "T"); err != nil {
		t.Error(err)
	}
	if got := f.asked(protocol.ReqUpdateConsumerOffset); !slices.Equal(got, []string{"a:1", "b:1"}) {
		t.Errorf("committed at %v", got)
	}
}

func TestTracks(t *testing.T) {
	f, c := newCluster(t)
	f.on(protocol.ReqQueryTopicConsumeByWho, func(string, *protocol.Command) *protocol.Command {
		return body(t, &protocol.GroupList{GroupList: []string{"pull", "broadcast", "done", "filtered", "behind", "offline", "none"}})
	})
	f.on(protocol.ReqGetConsumerConnectionList, func(_ string, req *protocol.Command) *protocol.Command {
		conn := &protocol.ConsumerConnection{ConsumeType: protocol.ConsumePassively, MessageModel: protocol.ModelClustering,
			SubscriptionTable: map[string]protocol.SubscriptionData{}}
		switch field(req, "consumerGroup") {
		case "offline":
			return refuse(protocol.RespConsumerNotOnline, "not online")
		case "pull":
			conn.ConsumeType = protocol.ConsumeActively
		case "broadcast":
			conn.MessageModel = protocol.ModelBroadcasting
		case "filtered":
			conn.SubscriptionTable["T"] = protocol.SubscriptionData{TagsSet: []string{"other"}}
		}
		return body(t, conn)
	})
	f.on(protocol.ReqGetConsumeStats, func(_ string, req *protocol.Command) *protocol.Command {
		o := protocol.OffsetWrapper{ConsumerOffset: 8}
		if field(req, "consumerGroup") == "behind" {
			o.ConsumerOffset = 7
		}
		return body(t, &protocol.ConsumeStats{OffsetTable: protocol.MessageQueueMap[protocol.OffsetWrapper]{queue("a", 0): o}})
	})
	host := "192.0.2.10:10911"
	f.on(protocol.ReqGetBrokerClusterInfo, func(string, *protocol.Command) *protocol.Command {
		return body(t, &protocol.ClusterInfo{BrokerAddrTable: map[string]protocol.BrokerData{"a": {BrokerAddrs: map[int64]string{0: host}}}})
	})
	f.on(protocol.ReqViewMessageByID, func(string, *protocol.Command) *protocol.Command {
		return &protocol.Command{Body: stored(7, prop("TAGS", "a"))}
	})
	m, err := c.View(ctx, "a:1", "T", 700)
	if err != nil {
		t.Fatal(err)
	}
	tracks, err := c.Tracks(ctx, m)
	want := []TrackType{TrackPull, TrackBroadcasting, TrackConsumed, TrackFiltered, TrackNotYet, TrackNotOnline, TrackUnknown}
	if err != nil || len(tracks) != len(want) {
		t.Fatalf("%v, %v", tracks, err)
	}
	for i, tr := range tracks {
		if tr.Type != want[i] || (tr.Err != nil) != (i >= 5) {
			t.Errorf("%+v, want %s", tr, want[i])
		}
	}
}

func TestTopicGroupsOfAllBrokers(t *testing.T) {
	f, c := newCluster(t)
	f.on(protocol.ReqQueryTopicConsumeByWho, func(addr string, _ *protocol.Command) *protocol.Command {
		return body(t, &protocol.GroupList{GroupList: []string{"g", "of-" + addr}})
	})
	if g, err := c.TopicGroups(ctx, "T"); err != nil || !slices.Equal(g, []string{"g", "of-a:1", "of-b:1"}) {
		t.Errorf("%v, %v", g, err)
	}
	f.down["a:1"] = true
	var conn *ConnectError
	if _, err := c.TopicGroups(ctx, "T"); !errors.As(err, &conn) {
		t.Error(err)
	}
}
