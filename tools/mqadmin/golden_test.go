package mqadmin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// recordedAt is a moment in the recording, for commands that print the time.
var recordedAt = map[string]int64{
	"clusterList": 1796049086673 + 396000, "consumerStatus": 1796049593827, "consumerStatus-jstack": 1796049601833,
	"resetOffsetByTime-offline": 1796049902941, "resetOffsetByTime-unknown-group": 1796050355876,
}

// anyOrder are commands whose lines Java prints in hash order.
var anyOrder = []string{
	"topicList", "topicList-c", "getBrokerConfig", "getNamesrvConfig", "consumerProgress", "brokerConsumeStats", "printMsg", "producer",
	"resetOffsetByTime", "resetOffsetByTime-offline", "resetOffsetByTime-unknown-group", "skipAccumulatedMessage",
}

// endless commands are stopped after a while, as the recording was.
var endless = []string{"clusterRT"}

// TestRecordedCommands runs every command line that was recorded with Java's tool against the servers' recorded answers, and compares the output.
func TestRecordedCommands(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 90 {
		t.Fatalf("%d recordings: %v", len(files), err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runRecorded(t, name)
		})
	}
}

func runRecorded(t *testing.T, name string) {
	args, want, wantCode := readRecording(t, name)
	r := loadReplay(t, name)
	dir := t.TempDir()
	args = inputFiles(t, dir, args, r)
	var out bytes.Buffer
	env := testEnv(&out, r, args)
	env.TempDir, env.WorkDir = filepath.Join(dir, "tmp"), dir
	if at := recordedAt[name]; at != 0 {
		env.Clock = clock.NewFake(time.UnixMilli(at))
	}
	ctx := context.Background()
	if slices.Contains(endless, name) {
		stop, cancel := context.WithCancel(ctx)
		defer cancel()
		env.Clock, ctx = &stopClock{Fake: clock.NewFake(time.UnixMilli(0)), rounds: 10, stop: cancel}, stop
		wantCode = 0
	}
	code := Main(ctx, env)
	if code != wantCode {
		t.Errorf("exit code %d, want %d", code, wantCode)
	}
	for _, p := range r.problems {
		t.Error(p)
	}
	got := strings.ReplaceAll(out.String(), env.TempDir, "<tmp>")
	got, want = normalise(name, got), normalise(name, want)
	if got != want {
		t.Errorf("%s\n%s", strings.Join(args, " "), diff(got, want))
	}
}

func testEnv(out *bytes.Buffer, tr Transport, args []string) Env {
	return Env{Args: args, Stdout: out, Stderr: out, Clock: clock.NewFake(time.UnixMilli(1796050400000)), Location: time.UTC,
		Dial: func() (Transport, error) { return tr, nil }, Version: "test"}
}

// stopClock lets timers fire at once, and ends the run after some rounds.
type stopClock struct {
	*clock.Fake
	rounds int
	stop   context.CancelFunc
}

func (c *stopClock) NewTimer(d time.Duration) clock.Timer {
	t := c.Fake.NewTimer(d)
	if c.rounds--; c.rounds > 0 {
		c.Advance(d)
	} else {
		c.stop()
	}
	return t
}

// readRecording splits a recording into command line, output and exit code. The recorder did not quote words, so those with blanks are put together here.
func readRecording(t *testing.T, name string) (args []string, out string, code int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	line, rest, _ := strings.Cut(string(b), "\n")
	out, tail, ok := cutLast(rest, "\nexit code: ")
	if !ok {
		rest = "\n" + rest
		if out, tail, ok = cutLast(rest, "\nexit code: "); !ok {
			t.Fatalf("%s.txt has no exit code", name)
		}
	}
	for _, blank := range []string{"from mqadmin", "creates a topic", "bad name!", "bad group!"} {
		line = strings.ReplaceAll(line, blank, strings.ReplaceAll(blank, " ", "\x00"))
	}
	for _, w := range strings.Fields(strings.TrimPrefix(line, "$ mqadmin")) {
		args = append(args, strings.ReplaceAll(w, "\x00", " "))
	}
	return args, out, int(toInt(tail))
}

// inputFiles writes the file that -f names, which held what the recorded request carries.
func inputFiles(t *testing.T, dir string, args []string, r *replay) []string {
	t.Helper()
	for i, a := range args {
		if !strings.HasPrefix(a, "<tmp>/") {
			continue
		}
		var body map[string]json.RawMessage
		if err := json.Unmarshal(r.exchanges[0].req.Body, &body); err != nil {
			t.Fatal(err)
		}
		args[i] = filepath.Join(dir, strings.TrimPrefix(a, "<tmp>/"))
		for _, list := range body {
			if err := os.WriteFile(args[i], list, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return args
}

var (
	stackLine  = regexp.MustCompile(`(?m)^\t(at .*|\.\.\. \d+ more)\n`)
	stackTail  = regexp.MustCompile(`, org\.apache\.[\w.]+\(\w+\.java:\d+\)`)
	hint       = regexp.MustCompile(`(?m)^Hint: .*\n`)
	braces     = regexp.MustCompile(`\{[^{}]*=[^{}]*\}`)
	uniqueID   = regexp.MustCompile(`\b[0-9A-F]{56}\b|\b[0-9A-F]{32}\b`)
	javaConfig = regexp.MustCompile(`<[\w-]+>(/(run|home|store-w)\b)?`)
)

// normalise takes out what may differ: Java's stack frames, the order of maps, and the ids and times that a send makes anew.
func normalise(name, s string) string {
	s = stackLine.ReplaceAllString(s, "")
	s = stackTail.ReplaceAllString(s, "")
	s = hint.ReplaceAllString(s, "")
	s = braces.ReplaceAllStringFunc(s, func(m string) string {
		parts := strings.Split(m[1:len(m)-1], ", ")
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	})
	for _, mask := range masks {
		if strings.HasPrefix(name, mask.command) {
			s = mask.pattern.ReplaceAllString(s, mask.with)
		}
	}
	if name == "allocateMQ" {
		var v any
		if json.Unmarshal([]byte(s), &v) == nil {
			b, _ := protocol.MarshalFast(v)
			s = string(b)
		}
	}
	if slices.Contains(anyOrder, name) {
		lines := strings.Split(s, "\n")
		slices.Sort(lines)
		s = strings.Join(lines, "\n")
	}
	return s
}

// masks are texts that a run makes anew.
var masks = []struct {
	command string
	pattern *regexp.Regexp
	with    string
}{
	{"sendM", uniqueID, "<id>"},
	{"sendMsgStatus", regexp.MustCompile(`rt=\d+ms`), "rt=<n>ms"},
	{"sendMsgStatus", regexp.MustCompile(`queueOffset=\d+`), "queueOffset=<n>"},
	{"sendMessage", regexp.MustCompile(`(?m)^(broker-g +)\d`), "${1}<q>"},
	{"checkMsgSendRT", regexp.MustCompile(`(?m)(true +)\d+$`), "${1}<n>"},
	{"checkMsgSendRT", regexp.MustCompile(`Avg RT: [\d.]+`), "Avg RT: <n>"},
	{"clusterRT", regexp.MustCompile(`\d+\.\d\d +`), "<n> "},
	{"brokerStatus", javaConfig, "<dir>"},
	{"getNamesrvConfig", javaConfig, "<dir>"},
	{"getBrokerConfig", javaConfig, "<dir>"},
}

// diff shows the first lines that differ.
func diff(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "<end>", "<end>"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\n got: %q\nwant: %q", i+1, a, b)
		}
	}
	return ""
}
