package mqadmin

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// slowAfter is how long a queue may go without being consumed, or locked, before the tool complains.
const slowAfter = time.Minute

func statusCommands() []*command {
	return []*command{
		{name: "consumerStatus", class: "ConsumerStatusSubCommand", short: "Ask a group's consumers what they are doing", run: consumerStatus,
			options: []option{{short: "g", long: "consumerGroup", arg: true, required: true, help: "consumer group name"},
				{short: "i", long: "clientId", arg: true, help: "print this client's answer"}, optBroker("ask only this broker"),
				{short: "s", long: "jstack", help: "with the stacks of its threads"}}},
	}
}

// clientInfo is what one consumer answered.
type clientInfo struct {
	id   string
	info *protocol.ConsumerRunningInfo
}

func consumerStatus(ctx context.Context, c *call) error {
	group, addr, stacks := c.str("g"), c.str("b"), c.has("s")
	if id := c.str("i"); id != "" {
		info, err := c.admin.RunningInfo(ctx, group, id, stacks, addr)
		if err != nil {
			return err
		}
		writeRunningInfo(c.out, info, c.env.Location)
		return nil
	}
	conn, err := c.admin.ConsumerConnection(ctx, group, addr)
	if err != nil {
		return err
	}
	dir := strconv.FormatInt(c.env.Clock.Now().UnixMilli(), 10)
	var all []clientInfo
	c.printf("%-10s %-40s %-20s %s\n", "#Index", "#ClientId", "#Version", "#ConsumerRunningInfoFile")
	for i, cl := range conn.ConnectionSet {
		info, err := c.admin.RunningInfo(ctx, group, cl.ClientID, stacks, addr)
		if err != nil {
			c.trace(err)
			continue
		}
		all = append(all, clientInfo{cl.ClientID, info})
		path := dir + "/" + cl.ClientID
		if err := saveRunningInfo(filepath.Join(c.env.WorkDir, dir), cl.ClientID, info, c.env.Location); err != nil {
			return err
		}
		c.printf("%-10d %-40s %-20s %s\n", i+1, cl.ClientID, protocol.VersionName(cl.Version), path)
	}
	c.judge(all)
	return nil
}

func saveRunningInfo(dir, client string, info *protocol.ConsumerRunningInfo, loc *time.Location) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, filepath.Base(filepath.Clean("/"+client)))) // the id is the client's text: it must not leave the folder
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	writeRunningInfo(w, info, loc)
	if err := w.Flush(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// judge compares the clients' subscriptions and looks for queues that do not move.
func (c *call) judge(all []clientInfo) {
	if len(all) == 0 {
		return
	}
	now := c.env.Clock.Now().UnixMilli()
	if !sameSubscriptions(all) {
		c.printf("\n\nWARN: Different subscription in the same group of consumer!!!")
		return
	}
	c.printf("\n\nSame subscription in the same group of consumer")
	c.printf("\n\nRebalance OK\n")
	for _, cl := range all {
		c.printf("%s", complaints(cl, now))
	}
}

// sameSubscriptions reports whether the push consumers subscribe alike. Java's mqadmin does not look at those that have run for less than two
// minutes, in which a group that differs has lost messages.
func sameSubscriptions(all []clientInfo) bool {
	var first []string
	for _, cl := range all {
		if !isPush(cl.info) {
			continue
		}
		subs := make([]string, 0, len(cl.info.SubscriptionSet))
		for i := range cl.info.SubscriptionSet {
			s := &cl.info.SubscriptionSet[i]
			subs = append(subs, s.Topic+" "+s.ExpressionType+" "+s.SubString)
		}
		slices.Sort(subs)
		if first != nil && !slices.Equal(first, subs) {
			return false
		}
		first = subs
	}
	return true
}

// property is the text of one of the consumer's properties; numbers come without an exponent.
func property(info *protocol.ConsumerRunningInfo, key string) string {
	switch v := info.Properties[key].(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

func isPush(info *protocol.ConsumerRunningInfo) bool {
	return property(info, protocol.RunningConsumeType) == protocol.ConsumePassively
}

// complaints names the queues of a push consumer that do not move.
func complaints(cl clientInfo, now int64) string {
	if !isPush(cl.info) {
		return ""
	}
	var out strings.Builder
	orderly := strings.EqualFold(property(cl.info, protocol.RunningConsumeOrderly), "true")
	for _, q := range cl.info.MQTable.SortedQueues() {
		p := cl.info.MQTable[q]
		idle := now - p.LastConsumeTimestamp
		switch {
		case orderly && !p.Locked:
			fmt.Fprintf(&out, "%s %s can't lock for a while, %dms\n", cl.id, q, now-p.LastLockTimestamp)
		case orderly && p.Dropped && p.TryUnlockTimes > 0:
			fmt.Fprintf(&out, "%s %s unlock %d times, still failed\n", cl.id, q, p.TryUnlockTimes)
		case !orderly && idle > slowAfter.Milliseconds() && p.CachedMsgCount > 0:
			fmt.Fprintf(&out, "%s %s can't consume for a while, maybe blocked, %dms\n", cl.id, q, idle)
		}
	}
	return out.String()
}

// writeRunningInfo prints all that a consumer said, in Java's layout.
func writeRunningInfo(w io.Writer, info *protocol.ConsumerRunningInfo, loc *time.Location) {
	fmt.Fprintf(w, "#Consumer Properties#\n")
	for _, k := range sortedKeys(info.Properties) {
		fmt.Fprintf(w, "%-40s: %s\n", k, property(info, k))
	}
	fmt.Fprintf(w, "\n\n#Consumer Subscription#\n")
	for i := range info.SubscriptionSet {
		s := &info.SubscriptionSet[i]
		fmt.Fprintf(w, "%03d Topic: %-40s ClassFilter: %-8t SubExpression: %s\n", i+1, s.Topic, s.ClassFilterMode, s.SubString)
	}
	queues := info.MQTable.SortedQueues()
	fmt.Fprintf(w, "\n\n#Consumer Offset#\n%-64s  %-32s  %-4s  %-20s\n", "#Topic", "#Broker Name", "#QID", "#Consumer Offset")
	for _, q := range queues {
		fmt.Fprintf(w, "%-32s  %-32s  %-4d  %-20d\n", q.Topic, q.BrokerName, q.QueueID, info.MQTable[q].CommitOffset)
	}
	fmt.Fprintf(w, "\n\n#Consumer MQ Detail#\n%-64s  %-32s  %-4s  %-20s\n", "#Topic", "#Broker Name", "#QID", "#ProcessQueueInfo")
	for _, q := range queues {
		p := info.MQTable[q]
		fmt.Fprintf(w, "%-64s  %-32s  %-4d  %s\n", q.Topic, q.BrokerName, q.QueueID, processQueueText(&p, loc))
	}
	fmt.Fprintf(w, "\n\n#Consumer Pop Detail#\n%-32s  %-32s  %-4s  %-20s\n", "#Topic", "#Broker Name", "#QID", "#ProcessQueueInfo")
	for _, q := range info.MQPopTable.SortedQueues() {
		p := info.MQPopTable[q]
		fmt.Fprintf(w, "%-32s  %-32s  %-4d  PopProcessQueueInfo [waitAckCount:%d, droped:%t, lastPopTimestamp:%d]\n",
			q.Topic, q.BrokerName, q.QueueID, p.WaitAckCount, p.Dropped, p.LastPopTimestamp)
	}
	writeRates(w, info)
}

func writeRates(w io.Writer, info *protocol.ConsumerRunningInfo) {
	fmt.Fprintf(w, "\n\n#Consumer RT&TPS#\n%-64s  %14s %14s %14s %14s %18s %25s\n", "#Topic", "#Pull RT", "#Pull TPS", "#Consume RT", "#ConsumeOK TPS",
		"#ConsumeFailed TPS", "#ConsumeFailedMsgsInHour")
	for _, topic := range sortedKeys(info.StatusTable) {
		s := info.StatusTable[topic]
		fmt.Fprintf(w, "%-32s  %14s %14s %14s %14s %18s %25d\n", topic, javaFixed(s.PullRT, 2), javaFixed(s.PullTPS, 2), javaFixed(s.ConsumeRT, 2),
			javaFixed(s.ConsumeOKTPS, 2), javaFixed(s.ConsumeFailedTPS, 2), s.ConsumeFailedMsgs)
	}
	if len(info.UserConsumerInfo) > 0 {
		fmt.Fprintf(w, "\n\n#User Consume Info#\n")
		for _, k := range sortedKeys(info.UserConsumerInfo) {
			fmt.Fprintf(w, "%-40s: %s\n", k, info.UserConsumerInfo[k])
		}
	}
	if info.JStack != "" {
		fmt.Fprintf(w, "\n\n#Consumer jstack#\n%s", info.JStack)
	}
}

func processQueueText(p *protocol.ProcessQueueInfo, loc *time.Location) string {
	at := func(ms int64) string {
		return strings.Replace(time.UnixMilli(ms).In(loc).Format("20060102150405.000"), ".", "", 1)
	}
	return fmt.Sprintf("ProcessQueueInfo [commitOffset=%d, cachedMsgMinOffset=%d, cachedMsgMaxOffset=%d, cachedMsgCount=%d, cachedMsgSizeInMiB=%d, "+
		"transactionMsgMinOffset=%d, transactionMsgMaxOffset=%d, transactionMsgCount=%d, locked=%t, tryUnlockTimes=%d, lastLockTimestamp=%s, droped=%t, "+
		"lastPullTimestamp=%s, lastConsumeTimestamp=%s]",
		p.CommitOffset, p.CachedMsgMinOffset, p.CachedMsgMaxOffset, p.CachedMsgCount, p.CachedMsgSizeInMiB, p.TransactionMsgMinOffset,
		p.TransactionMsgMaxOffset, p.TransactionMsgCount, p.Locked, p.TryUnlockTimes, at(p.LastLockTimestamp), p.Dropped, at(p.LastPullTimestamp), at(p.LastConsumeTimestamp))
}
