package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func TestQuantiles(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	var h histogram
	var all []int64
	for range 20000 {
		ns := int64(rnd.ExpFloat64() * 1e6)
		all = append(all, ns)
		h.record(time.Duration(ns))
	}
	slices.Sort(all)
	var c counts
	c.add(&h)
	for _, q := range []float64{0, .5, .99, .999, 1} {
		want := all[min(int(q*float64(len(all))), len(all)-1)]
		got := int64(c.quantile(q))
		if d := got - want; d > want/32+1 || -d > want/32+1 {
			t.Errorf("quantile %g: %d, want %d", q, got, want)
		}
	}
	before := c
	h.record(time.Hour)
	var after counts
	after.add(&h)
	if d := after.since(&before); d.sum != 1 || d.quantile(.5) < 59*time.Minute {
		t.Errorf("since: %d, %v", d.sum, d.quantile(.5))
	}
}

// TestBucketsAreOrdered: a larger value is never in an earlier bucket, and a bucket's value is within it.
func TestBucketsAreOrdered(t *testing.T) {
	last := -1
	for ns := int64(0); ns < 1<<40; ns += 1 + ns/100 {
		b := bucketOf(ns)
		if b < last || bucketOf(valueOf(b)) != b {
			t.Fatalf("%d ns: bucket %d after %d, its value %d is in %d", ns, b, last, valueOf(b), bucketOf(valueOf(b)))
		}
		last = b
	}
	if bucketOf(1<<62) >= bucketSize || bucketOf(-1) != 0 {
		t.Error("out of range")
	}
}

func decoded(t *testing.T, tp *template) *protocol.Command {
	t.Helper()
	cmd := new(protocol.Command)
	if err := protocol.DecodeFrame(tp.buf[4:], cmd); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestPatchedFrames: what was patched in is what a broker decodes, in both header encodings.
func TestPatchedFrames(t *testing.T) {
	for _, binaryHeader := range []bool{false, true} {
		c := &Config{Mode: "send", Size: 20, Batch: 1, Keys: 1000, UniqueKey: true, Tags: []string{"a"}, Binary: binaryHeader}
		tp := sendTemplate(c, "T", 3)
		tp.setOpaque(42)
		tp.setBorn(1796049902941)
		tp.setMessage(0, 0x123456789ABC, 1000)
		stamp(tp.buf[tp.bodies[0]:], time.Unix(0, 77), 5)
		cmd := decoded(t, tp)
		var h protocol.SendMessageV2RequestHeader
		if err := h.DecodeExt(cmd.Ext); err != nil {
			t.Fatal(err)
		}
		p := protocol.ParseProperties(h.Properties)
		if cmd.Opaque != opaqueBase+42 || h.BornTimestamp != 1796049902941 || h.QueueID != 3 || p["TAGS"] != "a" || p["WAIT"] != "true" {
			t.Errorf("binary %v: %+v %+v", binaryHeader, cmd, h)
		}
		if want := fmt.Sprintf("k%011d", 0x123456789ABC%1000); p["KEYS"] != want || p["UNIQ_KEY"] != "FEEDFACEFEEDFACE0000123456789ABC" {
			t.Errorf("binary %v: properties %v, want key %s", binaryHeader, p, want)
		}
		if sent, ok := readStamp(cmd.Body, 5); !ok || sent != 77 || len(cmd.Body) != 20 {
			t.Errorf("body %x", cmd.Body)
		}
		if _, ok := readStamp(cmd.Body, 6); ok {
			t.Error("a body of another run was taken")
		}
	}
}

func TestPatchedBatch(t *testing.T) {
	c := &Config{Mode: "send", Size: 7, Batch: 3, UniqueKey: true, Tags: []string{"a", "b"}}
	tp := sendTemplate(c, "T", 0)
	for i := range 3 {
		tp.setMessage(i, int64(i), 0)
		tp.buf[tp.bodies[i]] = 'A' + byte(i)
	}
	cmd := decoded(t, tp)
	if cmd.Code != protocol.ReqSendBatchMessage {
		t.Errorf("code %d", cmd.Code)
	}
	r := protocol.NewBatchReader(cmd.Body)
	var e protocol.BatchEntry
	for i := 0; r.Next(&e); i++ {
		id, _ := protocol.Property(e.Properties, "UNIQ_KEY")
		tag, _ := protocol.Property(e.Properties, "TAGS")
		if e.Body[0] != 'A'+byte(i) || !strings.HasSuffix(id, fmt.Sprintf("000%d", i)) || tag != c.Tags[i%2] {
			t.Errorf("entry %d: %s %s %s", i, e.Body, id, tag)
		}
	}
	if r.Err() != nil || r.Count() != 3 {
		t.Error(r.Count(), r.Err())
	}
}

// FuzzScanReply: no frame panics, and on frames of ours the scan agrees with the decoder.
func FuzzScanReply(f *testing.F) {
	for _, s := range []protocol.SerializeType{protocol.SerializeJSON, protocol.SerializeRocketMQ} {
		f.Add(protocol.AppendFrame(nil, &protocol.Command{Code: 2, Opaque: opaqueBase + 3, Flag: 1, Remark: `"code":9`, Serialize: s, Body: []byte("b")})[4:])
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		r, _, err := scanReply(frame)
		var cmd protocol.Command
		if err != nil || protocol.DecodeFrame(frame, &cmd) != nil {
			return
		}
		again := protocol.AppendFrame(nil, &protocol.Command{Code: cmd.Code, Opaque: cmd.Opaque, Flag: cmd.Flag, Serialize: cmd.Serialize, Body: cmd.Body})
		r, isReply, err := scanReply(again[4:])
		if err != nil || r.slot != int(cmd.Opaque)-opaqueBase || isReply != cmd.IsResponse() || !bytes.Equal(r.body, cmd.Body) {
			t.Fatalf("%+v, %v, %v, want %+v", r, isReply, err, cmd)
		}
	})
}

func TestValidateReportsAllMistakes(t *testing.T) {
	c := Config{Mode: "x", Topics: 0, TopicPrefix: "", Queues: 1, Groups: 1, Conns: 0, Window: 1, Batch: 1, Duration: time.Second, Tags: []string{"a|b"}}
	err := c.Validate()
	for _, word := range []string{"mode", "server", "topics", "topic:", "conns", "tag"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in %v", word, err)
		}
	}
	e := Config{Mode: "e2e", Brokers: []string{"b"}, Topics: 1, TopicPrefix: "T", Queues: 1, Groups: 1, Conns: 1, Window: 1, Size: 8, Batch: 2, Duration: time.Second}
	if err := e.Validate(); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("e2e without rate, with small bodies and batches: %v", err)
	}
}

// runMode runs the tool's command line and returns its exit code and JSON result.
func runMode(t *testing.T, args ...string) (int, Result, string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := Main(context.Background(), Env{Args: append(args, "-o", "json"), Stdout: &out, Stderr: &errs, Clock: clock.Real{}, Version: "test"})
	var r Result
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("%v: %s", err, out.Bytes())
		}
	}
	return code, r, errs.String()
}

func TestSendThenConsume(t *testing.T) {
	for _, extra := range [][]string{{}, {"--binary-header"}, {"--batch", "10"}, {"--sync", "--keys", "5", "--tags", "a,b"}} {
		t.Run(strings.Join(extra, " "), func(t *testing.T) {
			t.Parallel()
			b := startFake(t)
			args := append([]string{"send", "-b", b.addr, "--topics", "2", "-t", "Load", "-q", "3", "--conns", "2", "-w", "8", "-s", "100", "-m", "1200", "-i", "0"}, extra...)
			code, r, errs := runMode(t, args...)
			if code != 0 || r.Messages != 1200 || len(r.Errors) != 0 || r.Rate <= 0 || r.P50 <= 0 || r.Max < r.P50 {
				t.Fatalf("exit %d, %+v, %s", code, r, errs)
			}
			got := b.summary()
			if n := got.stored["Load0"]; n+got.stored["Load1"] != 1200 || n < 200 || got.topics["Load1"] != 3 || got.binary != slices.Contains(extra, "--binary-header") {
				t.Errorf("%+v", got)
			}
			code, r, errs = runMode(t, "consume", "-b", b.addr, "--topics", "2", "-t", "Load", "-q", "3", "--groups", "2", "--conns", "2", "-i", "0")
			if code != 0 || r.Messages != 2400 || r.MBPerSec <= 0 || r.P50 <= 0 {
				t.Errorf("consume: exit %d, %+v, %s", code, r, errs)
			}
		})
	}
}

func TestOneWay(t *testing.T) {
	b := startFake(t)
	code, r, errs := runMode(t, "send", "-b", b.addr, "--oneway", "--conns", "2", "-m", "500", "-i", "0", "-s", "10")
	if got := b.summary(); code != 0 || r.Messages != 500 || got.oneway != 500 || got.stored["BenchTopic"] != 500 {
		t.Errorf("exit %d, %+v, %s; the broker saw %+v", code, r, errs, got)
	}
}

func TestE2E(t *testing.T) {
	b := startFake(t)
	code, r, errs := runMode(t, "e2e", "-b", b.addr, "--groups", "2", "-q", "2", "--conns", "2", "-r", "2000", "-m", "200", "-s", "64", "-i", "0")
	if code != 0 || r.Messages != 400 || r.P50 <= 0 || r.Max > 10000 {
		t.Errorf("exit %d, %+v, %s", code, r, errs)
	}
}

func TestErrorsAreCountedByCode(t *testing.T) {
	b := startFake(t)
	b.mu.Lock()
	b.refuse = 7
	b.mu.Unlock()
	code, r, _ := runMode(t, "send", "-b", b.addr, "--conns", "1", "-m", "100", "-i", "0")
	if code != 1 || r.Messages != 93 || len(r.Errors) != 1 {
		t.Fatalf("exit %d, %+v", code, r)
	}
	if f := r.Errors[0]; f.Code != protocol.RespSystemBusy || f.Count != 7 || f.First != "too many of them" {
		t.Errorf("%+v", f)
	}
	if code, r, _ = runMode(t, "consume", "-b", b.addr, "--create=false", "-g", "NoGroup", "-i", "0"); code != 1 || r.Errors[0].Code != protocol.RespSubscriptionGroupNotExist {
		t.Errorf("exit %d, %+v", code, r)
	}
}

func TestRateAndDuration(t *testing.T) {
	b := startFake(t)
	code, r, errs := runMode(t, "send", "-b", b.addr, "--conns", "2", "-r", "500", "-d", "400ms", "--warmup", "100ms", "-i", "100ms")
	if code != 0 || r.Messages < 100 || r.Messages > 300 || r.Seconds < .3 || r.Seconds > 2 {
		t.Errorf("exit %d, %+v", code, r)
	}
	if !strings.Contains(errs, "(warm-up)") || strings.Count(errs, "msg/s") < 3 {
		t.Errorf("progress: %s", errs)
	}
}

func TestNoServer(t *testing.T) {
	if code, _, errs := runMode(t, "send"); code != 1 || !strings.Contains(errs, "no server is given") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if code, _, errs := runMode(t, "send", "-b", "127.0.0.1:1"); code != 1 || !strings.Contains(errs, "create topic") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

func TestText(t *testing.T) {
	r := &Result{Mode: "send", Messages: 10, Rate: 5, P50: 1.5, Errors: []Fault{{Code: 2, Count: 3, First: "busy"}, {Code: -1, Kind: "no answer", Count: 1, First: "x"}}}
	var b bytes.Buffer
	r.WriteText(&b)
	for _, want := range []string{"p99.9 ms", "1.500", "errors: 3 with code 2, the first: busy", "errors: 1 no answer: x"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
