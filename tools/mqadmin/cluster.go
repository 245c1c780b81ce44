package mqadmin

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/seedmq/seedmq/client/admin"
)

func clusterCommands() []*command {
	return []*command{
		{name: "clusterList", class: "ClusterListSubCommand", short: "List clusters, brokers and their load", json: true, run: clusterList,
			options: []option{{short: "m", long: "moreStats", help: "message totals instead of load"},
				{short: "i", long: "interval", arg: true, help: "repeat every so many seconds"}, optCluster("clusterName", "only this cluster")}},
	}
}

func clusterList(ctx context.Context, c *call) error {
	seconds, err := c.int64("i", 0)
	if err != nil {
		return err
	}
	for {
		if err := clusterListOnce(ctx, c); err != nil {
			return err
		}
		if seconds <= 0 || !c.wait(ctx, time.Duration(seconds)*time.Second) {
			return nil
		}
	}
}

func clusterListOnce(ctx context.Context, c *call) error {
	all, err := c.admin.Replicas(ctx, c.str("c"))
	if err != nil && !errors.Is(err, admin.ErrNoCluster) { // an unknown cluster is a table without rows
		return err
	}
	infos := make([]map[string]string, len(all))
	errs := make([]error, len(all))
	err = c.each(ctx, "brokers", len(all), func(ctx context.Context, i int) error {
		infos[i], errs[i] = c.admin.RuntimeInfo(ctx, all[i].Addr)
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			c.trace(err)
		}
	}
	switch {
	case c.asJSON:
		return clusterListJSON(c, all, infos)
	case c.has("m"):
		printTotals(c, all, infos)
	default:
		printLoad(c, all, infos)
	}
	return nil
}

func clusterListJSON(c *call, all []admin.Replica, infos []map[string]string) error {
	type row struct {
		Cluster string            `json:"cluster"`
		Broker  string            `json:"broker"`
		ID      int64             `json:"brokerId"`
		Addr    string            `json:"addr"`
		Info    map[string]string `json:"runtimeInfo"`
	}
	rows := make([]row, len(all))
	for i, r := range all {
		rows[i] = row{r.Cluster, r.Broker, r.ID, r.Addr, infos[i]}
	}
	return c.printJSON(rows)
}

func printTotals(c *call, all []admin.Replica, infos []map[string]string) {
	c.printf("%-16s  %-32s %14s %14s %14s %14s\n", "#Cluster Name", "#Broker Name", "#InTotalYest", "#OutTotalYest", "#InTotalToday", "#OutTotalToday")
	for i, r := range all {
		n := func(key string) int64 { return toInt(infos[i][key]) }
		c.printf("%-16s  %-32s %14d %14d %14d %14d\n", r.Cluster, r.Broker,
			n("msgPutTotalTodayMorning")-n("msgPutTotalYesterdayMorning"), n("msgGetTotalTodayMorning")-n("msgGetTotalYesterdayMorning"),
			n("msgPutTotalTodayNow")-n("msgPutTotalTodayMorning"), n("msgGetTotalTodayNow")-n("msgGetTotalTodayMorning"))
	}
}

func printLoad(c *call, all []admin.Replica, infos []map[string]string) {
	c.printf("%-22s  %-22s  %-4s  %-22s %-16s  %16s  %30s  %-22s  %-11s  %-12s  %-8s  %-10s\n", "#Cluster Name", "#Broker Name", "#BID", "#Addr",
		"#Version", "#InTPS(LOAD)", "#OutTPS(LOAD)", "#Timer(Progress)", "#PCWait(ms)", "#Hour", "#SPACE", "#ACTIVATED")
	for i, r := range all {
		l := loadOf(infos[i], c.env.Clock.Now())
		c.printf("%-22s  %-22s  %-4d  %-22s %-16s  %16s  %30s  %-22s  %11s  %-12s  %-8s  %10s\n",
			r.Cluster, r.Broker, r.ID, r.Addr, l.version, l.in, l.out, l.timer, l.pageCacheWait, l.hours, l.space, l.active)
	}
}

// load is one broker's cells in the load table.
type load struct{ version, in, out, timer, pageCacheWait, hours, space, active string }

func loadOf(info map[string]string, now time.Time) load {
	l := load{version: info["brokerVersionDesc"], pageCacheWait: info["pageCacheLockTimeMills"], active: boolText(strings.EqualFold(info["brokerActive"], "true"))}
	pad := func(f float64) string { s := javaFixed(f, 2); return strings.Repeat(" ", max(0, 9-len(s))) + s }
	queue := func(name string) string {
		return info[name+"ThreadPoolQueueSize"] + "," + info[name+"ThreadPoolQueueHeadWaitTimeMills"] + "ms"
	}
	ack := "N"
	if _, ok := info["ackThreadPoolQueueSize"]; ok {
		ack = queue("ack")
	}
	l.in = pad(firstNumber(info["putTps"])) + "(" + queue("send") + ")"
	l.out = pad(firstNumber(info["getTransferredTps"])) + "(" + queue("pull") + "|" + ack + ")"
	l.timer = strconv.FormatInt(toInt(info["timerReadBehind"]), 10) + "-" + strconv.FormatInt(toInt(info["timerOffsetBehind"]), 10) +
		"(" + javaFixed(float64(toInt(info["timerCongestNum"]))/10000, 1) + "w, " + javaFixed(toFloat(info["timerEnqueueTps"]), 1) + ", " +
		javaFixed(toFloat(info["timerDequeueTps"]), 1) + ")"
	var hours float64
	if oldest := toInt(info["earliestMessageTimeStamp"]); oldest > 0 {
		hours = float64(now.UnixMilli()-oldest) / 3600000
	}
	l.hours, l.space = javaFixed(hours, 2), javaFixed(toFloat(info["commitLogDiskRatio"]), 4)
	return l
}

// firstNumber reads the first of blank separated numbers.
func firstNumber(s string) float64 {
	if f := strings.Fields(s); len(f) > 0 {
		return toFloat(f[0])
	}
	return 0
}

// toInt and toFloat read what a broker reported; what is not there counts as 0.
func toInt(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func toFloat(s string) float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return 0
	}
	return f
}
