package mqadmin

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// exchange is a recorded request and its answer.
type exchange struct {
	port       string // of the server that was asked
	req, reply *protocol.Command
	used       int
}

// replay answers requests as a recorded Apache RocketMQ 5.5.0 answered Java's tool: a request must have the recorded code, fields and body.
type replay struct {
	mu        sync.Mutex
	down      bool // no server answers
	exchanges []*exchange
	problems  []string
}

// freeFields are header fields that may differ from the recorded ones, with the reason.
var freeFields = map[protocol.RequestCode][]string{
	protocol.ReqGetRouteInfoByTopic: {"acceptStandardJsonOnly"},         // Java asks by its version
	protocol.ReqSendMessageV2:       {"a", "e", "g", "i", "n"},          // group, queue, time, id of this run
	protocol.ReqQueryMessage:        {"beginTimestamp", "endTimestamp"}, // Java looks back 36 or 72 hours only
	protocol.ReqPullMessage:         {"maxMsgNums"},                     // never more than is left
}

// ignoredFields are fields of Java's that say nothing about the operation: broker name, kind of client, static topics.
var ignoredFields = []string{"bname", "ReqT", "lo"}

func (r *replay) Close() error { return nil }

func (r *replay) Invoke(_ context.Context, addr string, cmd *protocol.Command) (*protocol.Command, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return nil, errors.New("connection refused")
	}
	var sent protocol.Command // what a server would see
	if err := protocol.DecodeFrame(protocol.AppendFrame(nil, cmd)[4:], &sent); err != nil {
		return nil, err
	}
	var best *exchange
	for _, e := range r.exchanges {
		if strings.HasSuffix(addr, ":"+e.port) && sameRequest(&sent, e.req) && (best == nil || e.used < best.used) {
			best = e
		}
	}
	if best == nil && sent.Code == int32(protocol.ReqGetConsumerConnectionList) { // Java's cloneGroupOffset does not ask for members
		return &protocol.Command{Code: protocol.RespConsumerNotOnline}, nil
	}
	if best == nil {
		p := fmt.Sprintf("request %d to %s with %v, body %.300q is not in the recording", sent.Code, addr, sent.Ext, sent.Body)
		r.problems = append(r.problems, p)
		return nil, errors.New(p)
	}
	best.used++
	return best.reply.Clone(), nil
}

func sameRequest(got, want *protocol.Command) bool {
	if got.Code != want.Code {
		return false
	}
	free := append(slices.Clone(freeFields[got.Code]), ignoredFields...)
	fields := func(c *protocol.Command) map[string]string {
		m := map[string]string{}
		for _, f := range c.Ext {
			if !slices.Contains(free, f.Key) && f.Value != "" { // Java sends some fields empty
				m[f.Key] = f.Value
			}
		}
		return m
	}
	if !reflect.DeepEqual(fields(got), fields(want)) {
		return false
	}
	if got.Code == protocol.ReqSendMessageV2 {
		return true // probes differ in their text
	}
	return sameBody(got.Body, want.Body)
}

func sameBody(got, want []byte) bool {
	if bytes.Equal(got, want) {
		return true
	}
	var a, b any
	return json.Unmarshal(got, &a) == nil && json.Unmarshal(want, &b) == nil && reflect.DeepEqual(a, b)
}

// loadReplay reads testdata/<name>.jsonl.gz. Commands that reach no server have none.
func loadReplay(t *testing.T, name string) *replay {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".jsonl.gz"))
	if errors.Is(err, os.ErrNotExist) {
		return &replay{down: true}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	r := &replay{}
	open := map[string]*exchange{}
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		r.line(t, sc.Bytes(), open)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *replay) line(t *testing.T, b []byte, open map[string]*exchange) {
	t.Helper()
	var l struct{ Conn, Event, RawBase64 string }
	if err := json.Unmarshal(b, &l); err != nil {
		t.Fatal(err)
	}
	if l.Event != "" {
		return
	}
	raw, err := base64.StdEncoding.DecodeString(l.RawBase64)
	if err != nil {
		t.Fatal(err)
	}
	cmd := new(protocol.Command)
	if err := protocol.DecodeFrame(raw[4:], cmd); err != nil {
		t.Fatal(err)
	}
	key := fmt.Sprintf("%s/%d", l.Conn, cmd.Opaque)
	if !cmd.IsResponse() {
		port, _, _ := strings.Cut(l.Conn, "#")
		open[key] = &exchange{port: port, req: cmd}
		return
	}
	if e := open[key]; e != nil {
		e.reply = cmd
		r.exchanges = append(r.exchanges, e)
	}
}
