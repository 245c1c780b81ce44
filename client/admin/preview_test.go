package admin

import (
	"fmt"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
)

func TestMoveCounts(t *testing.T) {
	for _, x := range []struct {
		name           string
		m              Move
		again, skipped int64
	}{
		{"back", Move{End: 10, Committed: 8, Target: 3}, 5, 0},
		{"forward", Move{End: 10, Committed: 3, Target: 10}, 0, 7},
		{"nowhere", Move{End: 10, Committed: 3, Target: 3}, 0, 0},
		{"back to messages that are gone", Move{Begin: 4, End: 10, Committed: 8, Target: 1}, 4, 0},
		{"from messages that are gone", Move{Begin: 4, End: 10, Committed: 1, Target: 6}, 0, 2},
		{"from beyond the end", Move{End: 10, Committed: 20, Target: 9}, 1, 0},
		{"to beyond the end", Move{End: 10, Committed: 9, Target: 20}, 0, 1},
		{"a group without an offset", Move{Begin: 2, End: 10, Committed: -1, Target: 10}, 0, 8},
	} {
		if a, s := x.m.Again(), x.m.Skipped(); a != x.again || s != x.skipped {
			t.Errorf("%s: %d again, %d skipped, want %d and %d", x.name, a, s, x.again, x.skipped)
		}
	}
}

func TestPreviewReset(t *testing.T) {
	f, c := newCluster(t)
	offset := func(of map[string]int64) func(string, *protocol.Command) *protocol.Command {
		return func(addr string, _ *protocol.Command) *protocol.Command {
			off, ok := of[addr]
			if !ok {
				return &protocol.Command{Code: protocol.RespQueryNotFound}
			}
			return &protocol.Command{Ext: protocol.ExtFields{{Key: "offset", Value: fmt.Sprint(off)}}}
		}
	}
	f.on(protocol.ReqGetSubscriptionGroupConfig, func(string, *protocol.Command) *protocol.Command {
		return &protocol.Command{Code: protocol.RespRequestCodeNotSupported} // an old broker
	})
	f.on(protocol.ReqGetMinOffset, offset(map[string]int64{"a:1": 1, "b:1": 0}))
	f.on(protocol.ReqGetMaxOffset, offset(map[string]int64{"a:1": 10, "b:1": 5}))
	f.on(protocol.ReqSearchOffsetByTimestamp, offset(map[string]int64{"a:1": 4, "b:1": 2}))
	f.on(protocol.ReqQueryConsumerOffset, offset(map[string]int64{"a:1": 9}))
	moves, err := c.PreviewReset(ctx, "T", "g", 1000)
	if err != nil || len(moves) == 0 {
		t.Fatal(moves, err)
	}
	for _, m := range moves {
		want := Move{Queue: m.Queue, Begin: 1, End: 10, Committed: 9, Target: 4}
		if m.Queue.BrokerName == "b" {
			want = Move{Queue: m.Queue, End: 5, Committed: -1, Target: 2}
		}
		if m != want {
			t.Errorf("%+v, want %+v", m, want)
		}
	}
	if moves, err = c.PreviewReset(ctx, "T", "g", LatestTime); err != nil || moves[0].Target != 10 {
		t.Errorf("to the end: %+v %v", moves, err)
	}
	if n := len(f.asked(protocol.ReqUpdateConsumerOffset)) + len(f.asked(protocol.ReqInvokeBrokerToResetOffset)); n != 0 {
		t.Errorf("a preview changed something: %d requests", n)
	}
	f.on(protocol.ReqGetSubscriptionGroupConfig, func(string, *protocol.Command) *protocol.Command {
		return &protocol.Command{Code: protocol.RespSubscriptionGroupNotExist}
	})
	if _, err := c.PreviewReset(ctx, "T", "typo", 1000); !IsCode(err, protocol.RespSubscriptionGroupNotExist) {
		t.Errorf("an unknown group: %v", err)
	}
}

func TestCloneToALiveGroup(t *testing.T) {
	f, c := newCluster(t)
	onStats(t, f, map[string]protocol.OffsetWrapper{"a:1": {BrokerOffset: 10, ConsumerOffset: 4}, "b:1": {BrokerOffset: 10, ConsumerOffset: 6}})
	f.on(protocol.ReqGetConsumerConnectionList, func(addr string, req *protocol.Command) *protocol.Command {
		if addr == "b:1" || field(req, "consumerGroup") != "to" {
			return &protocol.Command{Code: protocol.RespConsumerNotOnline}
		}
		return body(t, &protocol.ConsumerConnection{})
	})
	f.on(protocol.ReqUpdateConsumerOffset, func(string, *protocol.Command) *protocol.Command { return &protocol.Command{} })
	f.on(protocol.ReqInvokeBrokerToResetOffset, func(addr string, req *protocol.Command) *protocol.Command {
		if addr != "a:1" || field(req, "offset") != "4" || field(req, "group") != "to" {
			t.Errorf("reset at %s: %v", addr, req.Ext)
		}
		return body(t, &protocol.ResetOffsetBody{})
	})
	if err := c.CloneOffsets(ctx, "g", "to", "T"); err != nil {
		t.Fatal(err)
	}
	if n := len(f.asked(protocol.ReqInvokeBrokerToResetOffset)); n != 1 {
		t.Errorf("%d resets, want one, of the broker where the group has members", n)
	}
}
