package txn

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

var rewrite = flag.Bool("rewrite", false, "write what the scripts of testdata print")

// TestScripts runs testdata/*.txt: commands, "----", and what they print. The commands:
//
//	set timeout=6s interval=30s checks=3 reserved=72h   before start
//	start                          a service on what is on disk
//	half NAME [PROPERTY=VALUE]     a producer of group G sends a half message
//	commit|rollback NAME [check] [record=N] [group=G] [offset=N] [at=N]
//	                               ends it by its newest record, or the N-th of its records; at is a wrong log position, or that of the first mark or message
//	advance 6s                     moves the clock
//	flushed                        the disk has everything that is there now, and nothing that comes later
//	save                           the periodic save of the progress
//	kill [cut=N]                   ends the service without saving; N records are lost from the log's end
//	stop                           ends it in order
//	java NAME                      a Java broker puts the message back: without naming the first record
//	op BODY                        an op message with that body, from another broker
//	check NAME [record=N]          an operator asks for a check
//	resume NAME                    an operator puts a given up message back
//	gone N                         the store deletes half messages below offset N
//	fail on|off                    appends fail
//
// After each command what is new is printed: messages delivered, given up, checks asked; with the number of open half messages and
// the progress at the end of a block.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) { runScript(t, path) })
	}
}

func runScript(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := &script{rig: newRig(t), sent: map[string][]store.AppendResult{}}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		commands, want, _ := strings.Cut(strings.TrimSpace(block), "\n----")
		var got strings.Builder
		for line := range strings.Lines(commands) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				if err := p.run(strings.Fields(line)); err != nil {
					fmt.Fprintf(&got, "%s: %v\n", line, err)
				}
				p.news(&got)
			}
		}
		p.state(&got)
		fmt.Fprintf(&out, "%s\n----\n%s\n", strings.TrimSpace(commands), got.String())
		if want = strings.TrimSpace(want); !*rewrite && strings.TrimSpace(got.String()) != want {
			t.Fatalf("%s:\n%s\n---- got\n%s---- want\n%s", path, commands, got.String(), want)
		}
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

type script struct {
	*rig
	sent                     map[string][]store.AppendResult
	delivered, givenUp, seen int
}

// run does one command.
func (p *script) run(f []string) error {
	opt := map[string]string{}
	for _, w := range f[1:] {
		if k, v, ok := strings.Cut(w, "="); ok {
			opt[k] = v
		} else if w == "check" {
			opt["check"] = "true"
		}
	}
	arg := ""
	if len(f) > 1 {
		arg = f[1]
	}
	switch f[0] {
	case "set":
		p.configure(opt)
	case "start":
		p.start()
	case "half":
		var props []string
		for k, v := range opt {
			props = append(props, k, v)
		}
		p.sent[arg] = append(p.sent[arg], p.half(arg, props...))
	case "commit", "rollback":
		return p.endBy(f[0], arg, opt)
	case "advance":
		p.advance(dur(arg))
	case "save":
		p.save()
	case "kill":
		p.s.g.Close()
		p.cut(num(opt["cut"], 0))
		for name, rs := range p.sent {
			p.sent[name] = slices.DeleteFunc(rs, func(r store.AppendResult) bool { return r.PhysicalOffset >= p.fakeStore.end })
		}
	case "flushed":
		at := p.fakeStore.end
		p.flushed.Store(&at)
	case "stop":
		p.stop()
	case "gone":
		p.mu.Lock()
		p.lowest[fakeQueue{protocol.TopicHalf, 0}] = int64(num(arg, 0))
		p.mu.Unlock()
	case "fail":
		p.mu.Lock()
		if p.fail = nil; arg == "on" {
			p.fail = errDisk
		}
		p.mu.Unlock()
	default:
		return p.other(f[0], arg, opt)
	}
	return nil
}

func (p *script) configure(opt map[string]string) {
	for k, v := range opt {
		switch k {
		case "timeout":
			p.set.Timeout = dur(v)
		case "interval":
			p.set.Interval = dur(v)
		case "reserved":
			p.set.Reserved = dur(v)
		case "checks":
			p.set.MaxChecks = num(v, 0)
		}
	}
}

// other does the commands of operators and of other brokers.
func (p *script) other(cmd, arg string, opt map[string]string) error {
	switch cmd {
	case "java":
		h := p.record(arg, -1)
		m := h.message()
		props := protocol.ParseProperties(h.Properties)
		props[protocol.PropertyTransactionCheckTimes] = strconv.Itoa(h.Checks + 1)
		m.Topic, m.Properties = protocol.TopicHalf, props.Encode()
		rs, err := p.put(m)
		if err != nil {
			return err
		}
		p.sent[arg] = append(p.sent[arg], rs[0])
	case "op":
		m := store.Message{Topic: protocol.TopicOpHalf, Body: []byte(arg), BornHost: host, StoreHost: host,
			Properties: protocol.AppendProperty(nil, protocol.PropertyTags, opTag)}
		_, err := p.put(m)
		return err
	case "check":
		open, err := p.s.CheckNow(p.record(arg, num(opt["record"], -1)).rec)
		if err == nil && !open {
			err = errors.New("not open")
		}
		p.settle()
		return err
	case "resume":
		for _, v := range p.records(protocol.TopicTransCheckMaxTime) {
			if string(v.Body) == arg {
				rec, _ := p.Record(v.PhysicalOffset, nil)
				m, err := Resumed(rec)
				if err != nil {
					return err
				}
				rs, err := p.put(m)
				if err == nil {
					p.sent[arg] = append(p.sent[arg], rs[0])
				}
				return err
			}
		}
		return errors.New("not given up")
	default:
		return errors.New("unknown command")
	}
	return nil
}

// record is the n-th record of a message, the newest for -1.
func (p *script) record(name string, n int) *Half {
	rs := p.sent[name]
	if n < 0 {
		n = len(rs) - 1
	}
	if n >= len(rs) {
		p.t.Fatalf("%s has no record %d", name, n)
	}
	rec, err := p.Record(rs[n].PhysicalOffset, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	h, err := decodeHalf(rec)
	if err != nil {
		p.t.Fatal(err)
	}
	return h
}

func (p *script) endBy(outcome, name string, opt map[string]string) error {
	h := p.record(name, num(opt["record"], -1))
	e := End{Group: "G", QueueOffset: h.QueueOffset, LogOffset: h.PhysicalOffset, Outcome: Commit, FromCheck: opt["check"] != ""}
	if outcome == "rollback" {
		e.Outcome = Rollback
	}
	if g, ok := opt["group"]; ok {
		e.Group = g
	}
	e.QueueOffset = int64(num(opt["offset"], int(e.QueueOffset)))
	e.LogOffset = int64(num(opt["at"], int(e.LogOffset)))
	switch opt["at"] {
	case "mark":
		e.LogOffset = p.records(protocol.TopicOpHalf)[0].PhysicalOffset
	case "message":
		e.LogOffset = p.records2("T", 2)[0].PhysicalOffset
	}
	es := []End{e}
	p.s.End(es)
	return es[0].Err
}

// news prints what came since the last call.
func (p *script) news(w *strings.Builder) {
	ms := p.records2("T", 2)
	p.delivered = min(p.delivered, len(ms)) // the log may have been cut
	for _, m := range ms[p.delivered:] {
		fmt.Fprintf(w, "delivered %s\n", m.Body)
	}
	p.delivered = len(ms)
	ms = p.records(protocol.TopicTransCheckMaxTime)
	p.givenUp = min(p.givenUp, len(ms))
	for _, m := range ms[p.givenUp:] {
		fmt.Fprintf(w, "given up %s\n", m.Body)
	}
	p.givenUp = len(ms)
	asks := p.asksNow()
	for _, a := range asks[p.seen:] {
		fmt.Fprintf(w, "asked %s, check %s, offset %d\n", a.name, a.checks, a.at.QueueOffset)
		p.sent[a.name] = append(p.sent[a.name], a.at)
	}
	p.seen = len(asks)
}

// state prints how the queue is.
func (p *script) state(w *strings.Builder) {
	_, halves, _ := p.QueueRange(protocol.TopicHalf, 0)
	_, ops, _ := p.QueueRange(protocol.TopicOpHalf, 0)
	if p.s == nil {
		fmt.Fprintf(w, "stopped: %d half, %d op messages, progress %d %d\n", halves, ops, p.saved[fakeQueue{protocol.TopicHalf, 0}], p.saved[fakeQueue{protocol.TopicOpHalf, 0}])
		return
	}
	head, op := int64(0), int64(0)
	p.s.mu.Lock()
	if q := p.s.mu.queues[0]; q != nil {
		head, op = q.head, q.opNext
	}
	p.s.mu.Unlock()
	fmt.Fprintf(w, "%d open; %d half, %d op messages, progress %d %d\n", p.s.Open(), halves, ops, head, op)
}

func dur(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(err)
	}
	return d
}

func num(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return otherwise
}
