package route

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

var rewrite = flag.Bool("rewrite", false, "write what the scripts print into testdata")

// TestScripts runs testdata/*.txt: commands, a line "----", what they print, a blank line. Lines starting with # are comments.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(text))
			if got == string(text) {
				return
			}
			if *rewrite {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s prints\n%s", f, got)
		})
	}
}

func runScript(t *testing.T, text string) string {
	e := &env{t: t, clk: clock.NewFake(time.UnixMilli(1_700_000_000_000)), order: map[string]string{}}
	e.table = New(Options{Clock: e.clk, Order: func(topic string) string { return e.order[topic] }})
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		commands, _, found := strings.Cut(block, "----")
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(commands)
		if !found { // a comment
			out.WriteByte('\n')
			continue
		}
		out.WriteString("----\n")
		for line := range strings.SplitSeq(strings.TrimSpace(commands), "\n") {
			if !strings.HasPrefix(line, "#") {
				out.WriteString(e.run(strings.Fields(line)))
			}
		}
		e.check()
	}
	return out.String()
}

type env struct {
	t     *testing.T
	clk   *clock.Fake
	table *Table
	order map[string]string
}

// args holds key=value words; words without = are under "".
type args map[string]string

func (a args) int(key string) int64 {
	n, _ := strconv.ParseInt(a[key], 10, 64)
	return n
}

func (a args) identity() Identity {
	return Identity{Cluster: a.or("cluster", "C"), Name: a["name"], Addr: a["addr"], ID: a.int("id")}
}

func (a args) or(key, def string) string {
	if v, ok := a[key]; ok {
		return v
	}
	return def
}

func (e *env) run(words []string) string {
	a := args{}
	for _, w := range words[1:] {
		if k, v, ok := strings.Cut(w, "="); ok {
			a[k] = v
		} else {
			a[""] = w
		}
	}
	session := Session(a.int("session"))
	switch words[0] {
	case "register":
		return e.register(a, session)
	case "unregister":
		n, removed := e.table.Unregister(a.identity(), session)
		return fmt.Sprintf("removed=%v%s\n", removed, notice(n))
	case "close":
		return notices(e.table.CloseSession(session))
	case "heartbeat":
		v, known := e.table.Heartbeat(a.or("cluster", "C"), a["addr"], session)
		return fmt.Sprintf("known=%v version=%d\n", known, v.Counter)
	case "advance":
		d, err := time.ParseDuration(a[""])
		if err != nil {
			e.t.Fatal(err)
		}
		e.clk.Advance(d)
		return ""
	case "expire":
		sessions, ns := e.table.Expire()
		slices.Sort(sessions)
		return fmt.Sprintf("closing=%v\n%s", sessions, notices(ns))
	case "config":
		e.table.SetConfig(Config{SupportActingMaster: a["acting"] == "true", DeleteMissing: a["missing"] == "true", OrderConf: a["order"] == "true"})
		return ""
	case "order":
		e.order[a["topic"]] = a["conf"]
		e.table.Invalidate(a["topic"])
		return ""
	case "register-topic":
		return fmt.Sprintf("%v\n", e.table.RegisterTopic(a["topic"], e.queues(a["queues"])))
	case "delete":
		e.table.DeleteTopic(a["topic"], a["cluster"])
		return ""
	case "wipe":
		return fmt.Sprintf("%d topics\n", e.table.WipeWrite(a[""]))
	case "add-write":
		return fmt.Sprintf("%d topics\n", e.table.AddWrite(a[""]))
	}
	return e.show(words[0], a)
}

func (e *env) show(what string, a args) string {
	switch what {
	case "route":
		body, ok := e.table.Route(a[""], a["zone"])
		if !ok {
			return "no route\n"
		}
		return string(body) + "\n"
	case "cluster":
		return string(e.table.ClusterInfo()) + "\n"
	case "members":
		return fmt.Sprintf("%v\n", e.table.Members(a[""]))
	case "topics":
		return fmt.Sprintf("%v\n", e.table.Topics())
	case "topics-of":
		return fmt.Sprintf("%v\n", e.table.TopicsOfCluster(a[""]))
	case "unit":
		return fmt.Sprintf("unit=%v sub=%v plain=%v\n", e.table.UnitTopics(), e.table.UnitSubTopics(false), e.table.UnitSubTopics(true))
	case "system":
		names, addr := e.table.SystemTopics()
		return fmt.Sprintf("%v %s\n", names, addr)
	case "table":
		return e.dump()
	}
	e.t.Fatalf("unknown command %s", what)
	return ""
}

// register understands topics=NAME:QUEUES:PERM[:SYSFLAG],... and version=COUNTER, state=N.
func (e *env) register(a args, s Session) string {
	r := &Registration{Identity: a.identity(), Session: s, HAAddr: a["ha"], Zone: a["zone"],
		Version: protocol.DataVersion{Counter: a.int("version"), Timestamp: a.int("version"), StateVersion: a.int("state")},
		Topics:  map[string]protocol.TopicConfig{}, Mappings: map[string]*protocol.TopicQueueMappingInfo{}}
	for spec := range strings.SplitSeq(a.or("topics", "SYS:1:6,"+a["name"]+":1:7"), ",") {
		f := append(strings.Split(spec, ":"), "0", "0", "0")
		n, _ := strconv.Atoi(f[1])
		perm, _ := strconv.Atoi(f[2])
		flags, _ := strconv.Atoi(f[3])
		if f[0] != "" {
			r.Topics[f[0]] = protocol.TopicConfig{TopicName: f[0], ReadQueueNums: int32(n), WriteQueueNums: int32(n), Perm: int32(perm), TopicSysFlag: int32(flags)}
		}
	}
	if d, err := time.ParseDuration(a["timeout"]); err == nil {
		r.Timeout = d
	}
	if v, ok := a["acting"]; ok {
		r.ActingMaster = protocol.Some(v == "true")
	}
	if v := a["filters"]; v != "" {
		r.Filters = strings.Split(v, ",")
	}
	if v := a["mapped"]; v != "" {
		r.Mappings[v] = &protocol.TopicQueueMappingInfo{BrokerName: r.Name, Topic: v}
	}
	res := e.table.Register(r)
	out := res.Verdict.String()
	if res.MasterAddr != "" {
		out += fmt.Sprintf(" master=%s ha=%s", res.MasterAddr, res.HAAddr)
	}
	return out + notice(res.Notice) + "\n"
}

func (e *env) queues(list string) []protocol.QueueData {
	var out []protocol.QueueData
	for spec := range strings.SplitSeq(list, ",") {
		f := strings.Split(spec, ":")
		n, _ := strconv.Atoi(f[1])
		out = append(out, protocol.QueueData{BrokerName: f[0], ReadQueueNums: int32(n), WriteQueueNums: int32(n), Perm: 6})
	}
	return out
}

func notice(n *Notice) string {
	if n == nil {
		return ""
	}
	slices.Sort(n.Targets)
	return fmt.Sprintf(" tell %v: %s min=%d at %s offline=%q ha=%q", n.Targets, n.Name, n.MinID, n.MinAddr, n.OfflineAddr, n.HAAddr)
}

func notices(list []*Notice) string {
	lines := []string{}
	for _, n := range list {
		lines = append(lines, strings.TrimSpace(notice(n))+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func (e *env) dump() string {
	var out strings.Builder
	m := &e.table.mu
	for _, name := range slices.Sorted(maps.Keys(m.brokers)) {
		b := m.brokers[name]
		fmt.Fprintf(&out, "broker %s of %s:", name, b.cluster)
		for _, id := range slices.Sorted(maps.Keys(b.members)) {
			fmt.Fprintf(&out, " %d=%s/s%d", id, b.members[id].Addr, b.members[id].session)
		}
		out.WriteByte('\n')
	}
	for _, name := range slices.Sorted(maps.Keys(m.topics)) {
		fmt.Fprintf(&out, "topic %s:", name)
		for _, b := range slices.Sorted(maps.Keys(m.topics[name].queues)) {
			q := m.topics[name].queues[b]
			fmt.Fprintf(&out, " %s:%d:%s", b, q.ReadQueueNums, protocol.PermString(q.Perm))
		}
		out.WriteByte('\n')
	}
	if out.Len() == 0 {
		return "empty\n"
	}
	return out.String()
}

// check holds after every block: the maps agree with each other, and every kept reply is what would be built now.
func (e *env) check() {
	e.t.Helper()
	m := &e.table.mu
	linked := 0
	for s, set := range m.sessions {
		for mem := range set {
			linked++
			if b := m.brokers[mem.Name]; mem.session != s || m.live[mem.key()] != mem || b == nil || b.members[mem.ID] != mem {
				e.t.Errorf("member %+v of session %d is not linked everywhere", mem, s)
			}
		}
	}
	members, entries := 0, 0
	for _, b := range m.brokers {
		members += len(b.members)
		entries += len(b.topics)
		if len(b.members) == 0 {
			e.t.Errorf("broker %s without members", b.name)
		}
		for name := range b.topics {
			if tp := m.topics[name]; tp == nil || tp.queues[b.name].BrokerName != b.name {
				e.t.Errorf("broker %s lists topic %s, which has no queues there", b.name, name)
			}
		}
	}
	queues := 0
	for _, tp := range m.topics {
		queues += len(tp.queues)
	}
	if members != linked || members != len(m.live) || queues != entries {
		e.t.Errorf("%d members, %d linked, %d live; %d queues, %d listed", members, linked, len(m.live), queues, entries)
	}
	for key, body := range m.replies {
		if now := mustJSON(e.table.routeLocked(key, m.topics[key.topic])); string(now) != string(body) {
			e.t.Errorf("the kept reply of %v is out of date:\n%s\nnow\n%s", key, body, now)
		}
	}
}
