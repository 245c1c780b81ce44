package broker_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

var errBusy = errors.New("busy")

// member registers c as a push consumer of T in group G that is a client of a version of Java's.
func member(t *testing.T, c *brokertest.Client, version int32) {
	t.Helper()
	body, err := protocol.MarshalFast(&protocol.HeartbeatData{ClientID: c.ID(), ConsumerDataSet: []protocol.ConsumerData{{GroupName: "G",
		ConsumeType: protocol.ConsumePassively, MessageModel: protocol.ModelClustering,
		SubscriptionDataSet: []protocol.SubscriptionData{{Topic: "T", SubString: "*", SubVersion: 1}, {Topic: "%RETRY%G", SubString: "*", SubVersion: 1}}}}})
	if err != nil {
		t.Fatal(err)
	}
	hb := protocol.NewRequest(protocol.ReqHeartBeat, nil, body)
	hb.Language, hb.Version = protocol.LanguageJava, version
	if r := c.Do(hb); r.Code != protocol.RespSuccess {
		t.Fatal(r.Code, r.Remark)
	}
	nextPush(c, protocol.ReqNotifyConsumerIDsChanged)
}

// ids is who is in group G, as c is told.
func ids(t *testing.T, c *brokertest.Client) string {
	t.Helper()
	r := c.Must(protocol.ReqGetConsumerListByGroup, &protocol.GetConsumerListByGroupRequestHeader{ConsumerGroup: "G"}, nil, nil)
	var body protocol.GetConsumerListByGroupResponseBody
	if err := protocol.UnmarshalFast(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	return strings.Join(body.ConsumerIDList, " ")
}

// pullFrom pulls queue 0 of T for group G, with a commit unless that is 0.
func pullFrom(c *brokertest.Client, off, consumed int64) *protocol.Command {
	h := pullHeader("T", 0, off)
	h.ConsumerGroup = "G"
	if consumed > 0 {
		h.SysFlag |= protocol.PullFlagCommitOffset
		h.CommitOffset = consumed
	}
	return c.Call(protocol.ReqPullMessage, h, nil)
}

// TestResetIsFollowed: a client that would wait for 10 s before it obeyed is made to give up its queues, and finds the new offset when it
// has them again.
func TestResetIsFollowed(t *testing.T) {
	b, operator := startFilled(t, 5)
	c, other := brokertest.Dial(t, b.Addr()), brokertest.Dial(t, b.Addr())
	member(t, c, 409) // 4.9.8
	member(t, other, protocol.VersionV5_5_0)
	nextPush(c, protocol.ReqNotifyConsumerIDsChanged)
	commitAt(c, "G", "T", 0, 4)
	early := reset("G")
	early.Timestamp = 0
	operator.Must(protocol.ReqInvokeBrokerToResetOffset, early, nil, nil)

	nextPush(c, protocol.ReqNotifyConsumerIDsChanged)
	refused(t, pullFrom(c, 5, 4), protocol.RespSystemBusy, "reset to 0") // it pulls on: not now
	if got := ids(t, operator); !strings.Contains(got, c.ID()) || !strings.Contains(got, other.ID()) {
		t.Fatalf("the others see %s", got)
	}
	for range 2 { // it subscribes to two topics
		if got := ids(t, c); got != other.ID() {
			t.Fatalf("the member sees %s, want only %s", got, other.ID())
		}
	}
	commitAt(c, "G", "T", 0, 5) // its last commit has no effect
	if got := ids(t, c); !strings.Contains(got, c.ID()) {
		t.Fatalf("after its questions the member sees %s", got)
	}
	nextPush(c, protocol.ReqNotifyConsumerIDsChanged)
	if off := offsetOf(t, query(c, "G", "T", 0)); off != 0 {
		t.Fatalf("the offset is %d", off)
	}
	if r := pullFrom(c, 0, 0); r.Code != protocol.RespSuccess || len(brokertest.Messages(t, r.Body)) != 5 {
		t.Fatalf("the pull from the new offset: %d %s", r.Code, r.Remark)
	}
	commitAt(c, "G", "T", 0, 5)
	if off := offsetOf(t, query(c, "G", "T", 0)); off != 5 {
		t.Fatalf("the offset is %d: the reset is pending for ever", off)
	}
	select {
	case r := <-other.Pushes: // it hears of members when c comes back, but is never left out
		if r.Code != int32(protocol.ReqNotifyConsumerIDsChanged) {
			t.Fatal(r.Code)
		}
	case <-time.After(brokertest.Wait):
		t.Fatal("the others are not told that the member is back")
	}
}

// TestResetToWhereAConsumerPulls: one that pulls from there but holds messages from before is still sent there, so that it drops them.
func TestResetToWhereAConsumerPulls(t *testing.T) {
	b, operator := startFilled(t, 5)
	c := brokertest.Dial(t, b.Addr())
	member(t, c, protocol.VersionV5_5_0)
	commitAt(c, "G", "T", 0, 2)
	operator.Must(protocol.ReqInvokeBrokerToResetOffset, reset("G"), nil, nil) // to the end
	r := pullFrom(c, 5, 2)
	if next, _ := r.Ext.Get("nextBeginOffset"); r.Code != protocol.RespPullOffsetMoved || next != "5" {
		t.Fatalf("code %d, next %s", r.Code, next)
	}
	if r := pullFrom(c, 5, 5); r.Code == protocol.RespPullOffsetMoved {
		t.Fatal("told twice")
	}
}

// TestCloneIsFollowed: the live members of the group that gets the offsets go there.
func TestCloneIsFollowed(t *testing.T) {
	b, operator := startFilled(t, 5)
	c := brokertest.Dial(t, b.Addr())
	member(t, c, protocol.VersionV5_5_0)
	commitAt(c, "G", "T", 0, 5)
	operator.Must(protocol.ReqUpdateAndCreateSubscriptionGroup, nil, []byte(`{"groupName":"From"}`), nil)
	commitAt(operator, "From", "T", 0, 1)
	operator.Must(protocol.ReqCloneGroupOffset, &protocol.CloneGroupOffsetRequestHeader{SrcGroup: "From", DestGroup: "G", Topic: "T"}, nil, nil)
	commitAt(c, "G", "T", 0, 5)
	if off := offsetOf(t, query(c, "G", "T", 0)); off != 1 {
		t.Fatalf("the member's commit took the offset to %d", off)
	}
	r := pullFrom(c, 5, 5)
	if next, _ := r.Ext.Get("nextBeginOffset"); r.Code != protocol.RespPullOffsetMoved || next != "1" {
		t.Fatalf("code %d, next %s", r.Code, next)
	}
}

// TestResetNeverFollowed: a member that does not come to ask, and none that obeys, is told by its pull in the end.
func TestResetNeverFollowed(t *testing.T) {
	b, operator := startFilled(t, 5)
	c := brokertest.Dial(t, b.Addr())
	member(t, c, 409)
	operator.Must(protocol.ReqInvokeBrokerToResetOffset, reset("G"), nil, nil)
	var r *protocol.Command
	brokertest.Until(t, "the pull is told the offset", func() error {
		if r = pullFrom(c, 2, 2); r.Code == protocol.RespSystemBusy {
			return errBusy
		}
		return nil
	})
	if next, _ := r.Ext.Get("nextBeginOffset"); r.Code != protocol.RespPullOffsetMoved || next != "5" {
		t.Fatalf("code %d, next %s", r.Code, next)
	}
}

// TestResetOfMembersThatAreNotTold: a group whose members are not told of changes is not made to leave; its pulls are sent on.
func TestResetOfMembersThatAreNotTold(t *testing.T) {
	b, operator := startFilled(t, 5)
	operator.Must(protocol.ReqUpdateAndCreateSubscriptionGroup, nil, []byte(`{"groupName":"G","consumeEnable":true,"notifyConsumerIdsChangedEnable":false}`), nil)
	c := brokertest.Dial(t, b.Addr())
	c.Heartbeat("G", protocol.SubscriptionData{Topic: "T", SubString: "*", SubVersion: 1}) // a Go client
	operator.Must(protocol.ReqInvokeBrokerToResetOffset, reset("G"), nil, nil)
	r := pullFrom(c, 2, 2)
	if next, _ := r.Ext.Get("nextBeginOffset"); r.Code != protocol.RespPullOffsetMoved || next != "5" {
		t.Fatalf("code %d %s, next %s", r.Code, r.Remark, next)
	}
	if got := ids(t, c); got != c.ID() {
		t.Fatalf("the member sees %s", got)
	}
	select {
	case p := <-c.Pushes:
		t.Fatalf("told: %d", p.Code)
	default:
	}
}
