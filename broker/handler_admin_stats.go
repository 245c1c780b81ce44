package broker

// GET_BROKER_RUNTIME_INFO 28, GET_ALL_DELAY_OFFSET 45, VIEW_BROKER_STATS_DATA 315, GET_BROKER_HA_STATUS 907: figures, as Java's
// AdminBrokerProcessor.

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/seedmq/seedmq/broker/stats"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// statsData tells one figure.
func (b *Broker) statsData(_ *call, h *protocol.ViewBrokerStatsDataRequestHeader) (*remoting.Reply, error) {
	d, there := b.stats.View(h.StatsName, h.StatsKey)
	if !there {
		return nil, refuse(protocol.RespSystemError, "The stats <%s> <%s> not exist", clip(h.StatsName), clip(h.StatsKey))
	}
	return jsonReply(&d)
}

// delayOffsets tells delayOffset.json.
func (b *Broker) delayOffsets(*call, *none) (*remoting.Reply, error) {
	return &remoting.Reply{Body: b.delay.Encode()}, nil
}

// haStatus tells the state of replication: a master without slaves.
func (b *Broker) haStatus(*call, *none) (*remoting.Reply, error) {
	return jsonReply(&protocol.HARuntimeInfo{Master: true, MasterCommitLogMaxOffset: b.store.Status().MaxPhys,
		HAConnectionInfo: []protocol.HAConnectionInfo{}})
}

// runtimeInfo tells what clusterList and brokerStatus show. The keys are Java's; those of thread pools that do not exist here say 0.
func (b *Broker) runtimeInfo(*call, *none) (*remoting.Reply, error) {
	t := map[string]string{}
	st := b.store.Status()
	b.storeInfo(t, &st)
	b.trafficInfo(t, &st)
	b.poolInfo(t)
	b.limitsInfo(t)
	b.popInfo(t)
	for _, o := range b.delay.Offsets() {
		if o.Max > 0 {
			t["scheduleMessageOffset_"+strconv.Itoa(int(o.Level))] = fmt.Sprintf("%d,%d", o.Next, o.Max)
		}
	}
	return jsonReply(&protocol.KVTable{Table: t})
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// storeInfo adds what the store says.
func (b *Broker) storeInfo(t map[string]string, st *store.Status) {
	t["commitLogMinOffset"] = itoa(st.MinPhys)
	t["commitLogMaxOffset"] = itoa(st.MaxPhys)
	t["commitLogDiskRatio"] = strconv.FormatFloat(st.DiskRatio, 'f', -1, 64)
	t["consumeQueueDiskRatio"] = strconv.FormatFloat(st.QueueDiskRatio, 'f', -1, 64)
	t["dispatchBehindBytes"] = itoa(max(0, st.MaxPhys-st.DispatchedPhys))
	t["dispatchMaxBuffer"] = "0"
	t["pageCacheLockTimeMills"] = itoa(st.AppendLockHeldFor.Milliseconds())
	t["earliestMessageTimeStamp"] = itoa(st.EarliestStoreTime)
	t["remainTransientStoreBufferNumbs"] = itoa(math.MaxInt32) // there is no such pool: it is never short
	t["remainHowManyDataToFlush"] = humanBytes(max(0, st.MaxPhys-st.FlushedPhys))
	t["commitLogDirCapacity"] = fmt.Sprintf("Total : %s, Free : %s.", humanBytes(st.DirTotal), humanBytes(st.DirFree))
	t["putMessageTimesTotal"] = itoa(st.PutTimes)
	t["putMessageSizeTotal"] = itoa(st.PutBytes)
	t["putMessageFailedTimes"] = itoa(b.stats.Totals().PutFailed)
	average := 0.0
	if st.PutTimes > 0 {
		average = float64(st.PutBytes) / float64(st.PutTimes)
	}
	t["putMessageAverageSize"] = javaFloat(average)
	distribution, longest := b.stats.PutTimes()
	t["putMessageDistributeTime"] = distribution
	t["putMessageEntireTimeMax"] = itoa(longest.Milliseconds())
	t["getMessageEntireTimeMax"] = "0"
	ms := func(d time.Duration) string {
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 2, 64)
	}
	t["putLatency99"], t["putLatency999"] = ms(b.stats.PutLatency(0.99)), ms(b.stats.PutLatency(0.999))
}

// trafficInfo adds what goes in and out.
func (b *Broker) trafficInfo(t map[string]string, st *store.Status) {
	r, n := b.stats.Rates(), b.stats.Totals()
	t["putTps"] = stats.Text(r.Put)
	t["getFoundTps"] = stats.Text(r.Found)
	t["getMissTps"] = stats.Text(r.Miss)
	t["getTotalTps"] = stats.Text(r.Total)
	t["getTransferredTps"] = stats.Text(r.Transferred)
	t["msgPutTotalYesterdayMorning"] = itoa(n.PutYesterdayMorning)
	t["msgPutTotalTodayMorning"] = itoa(n.PutTodayMorning)
	t["msgPutTotalTodayNow"] = itoa(n.PutNow)
	t["msgGetTotalYesterdayMorning"] = itoa(n.GetYesterdayMorning)
	t["msgGetTotalTodayMorning"] = itoa(n.GetTodayMorning)
	t["msgGetTotalTodayNow"] = itoa(n.GetNow)
	now := b.clk.Now().UnixMilli()
	t["bootTimestamp"] = itoa(b.admin.booted)
	t["runtime"] = uptime(time.Duration(now-b.admin.booted) * time.Millisecond)
	t["brokerActive"] = "true"
	t["brokerVersion"] = itoa(int64(protocol.CurrentVersion))
	t["brokerVersionDesc"] = protocol.VersionName(protocol.CurrentVersion)
	t["startAcceptSendRequestTimeStamp"] = itoa(b.settings().StartAcceptSendRequestTimeStamp)
	b.timerInfo(t)
}

// poolInfo adds Java's thread pools. Requests here run on the connections' own goroutines and never wait in such a queue.
func (b *Broker) poolInfo(t map[string]string) {
	for _, name := range []string{"send", "pull", "litePull", "query", "ack"} {
		t[name+"ThreadPoolQueueSize"] = "0"
		t[name+"ThreadPoolQueueCapacity"] = itoa(poolQueue)
		t[name+"ThreadPoolQueueHeadWaitTimeMills"] = "0"
	}
	t["EndTransactionQueueSize"] = "0"
	t["EndTransactionThreadPoolQueueCapacity"] = itoa(poolQueue)
}

// uptime is Java's text of a running time.
func uptime(d time.Duration) string {
	s := int64(d / time.Second)
	return fmt.Sprintf("[ %d days, %d hours, %d minutes, %d seconds ]", s/86400, s/3600%24, s/60%60, s%60)
}

// humanBytes is a size as Java writes it: "12 B", "1.6 KiB".
func humanBytes(n int64) string {
	if n < 1024 {
		return itoa(n) + " B"
	}
	v, i := float64(n)/1024, 0
	for ; v >= 1024 && i < 4; i++ {
		v /= 1024
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGTP"[i])
}

// javaFloat is Double.toString for the sizes that come up here.
func javaFloat(v float64) string {
	t := strconv.FormatFloat(v, 'f', -1, 64)
	for _, c := range t {
		if c == '.' {
			return t
		}
	}
	return t + ".0"
}
