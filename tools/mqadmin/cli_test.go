package mqadmin

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// runWith runs a command line against a recording and returns the exit code and the two streams.
func runWith(t *testing.T, recording string, change func(*Env), args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := testEnv(&out, loadReplay(t, recording), args)
	env.Stderr = &errs
	env.TempDir, env.WorkDir = t.TempDir(), t.TempDir()
	if change != nil {
		change(&env)
	}
	code = Main(context.Background(), env)
	return code, out.String(), errs.String()
}

func TestOverview(t *testing.T) {
	code, out, _ := runWith(t, "none", nil)
	if code != 0 || !strings.HasPrefix(out, "The most commonly used mqadmin commands are:\n   topicList                           List") ||
		!strings.HasSuffix(out, "\n\nSee 'mqadmin help <command>' for more information on a specific command.\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
	for _, flag := range []string{"-h", "--help"} {
		if code, same, _ := runWith(t, "none", nil, flag); code != 0 || same != out {
			t.Errorf("%s: exit %d\n%s", flag, code, same)
		}
	}
	if _, out, _ = runWith(t, "none", nil, "--version"); out != "mqadmin test\n" {
		t.Error(out)
	}
}

func TestUnknownCommand(t *testing.T) {
	for _, args := range [][]string{{"noSuch"}, {"help", "noSuch"}, {"noSuch", "-h"}} {
		if code, out, _ := runWith(t, "none", nil, args...); code != 0 || out != "The sub command noSuch not exist.\n" {
			t.Errorf("%v: exit %d, %q", args, code, out)
		}
	}
	if code, _, _ := runWith(t, "none", func(e *Env) { e.Strict = true }, "noSuch"); code != 1 {
		t.Errorf("strict: exit %d", code)
	}
}

func TestCommandsOfLaterVersions(t *testing.T) {
	code, out, errs := runWith(t, "none", nil, "HASTATUS", "-b", "x")
	if code != 1 || out != "" || !strings.Contains(errs, "haStatus is not supported yet") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}

func TestNamesInAnyCase(t *testing.T) {
	code, out, errs := runWith(t, "topicClusterList", nil, "TOPICCLUSTERLIST", "-n", "h:9976", "-t", "AdminTopic")
	if code != 0 || out != "GoldenCluster\n" {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"help", "topicroute"}, {"topicRoute", "-t", "x", "-h"}} {
		code, out, _ := runWith(t, "none", nil, args...)
		if code != 0 || !strings.HasPrefix(out, "usage: mqadmin topicRoute [-h] [-l] [-n <arg>] -t <arg>\n") || !strings.Contains(out, "--output") {
			t.Errorf("%v: exit %d\n%s", args, code, out)
		}
	}
	if code, out, errs := runWith(t, "none", nil, "topicRoute", "-h"); code != 1 || !strings.HasPrefix(out, "usage: ") || errs != "Missing required option: t\n" {
		t.Errorf("without the required option: exit %d, %q, %q", code, out, errs)
	}
}

func TestExitCodes(t *testing.T) {
	args := []string{"topicStatus", "-n", "h:9976", "-t", "NoSuchTopic"}
	code, out, errs := runWith(t, "topicStatus-unknown", nil, args...)
	if code != 0 || out != "" || !strings.Contains(errs, "MQClientException: CODE: 17  DESC: ") {
		t.Errorf("as Java: exit %d, %q, %q", code, out, errs)
	}
	if code, _, _ = runWith(t, "topicStatus-unknown", nil, append(args, "--strict")...); code != 1 {
		t.Errorf("--strict: exit %d", code)
	}
	if code, _, _ = runWith(t, "topicStatus-unknown", func(e *Env) { e.Strict = true }, args...); code != 1 {
		t.Errorf("strict environment: exit %d", code)
	}
	if code, _, _ = runWith(t, "topicStatus", nil, "topicStatus", "-n", "h:9976", "-t", "AdminTopic", "--strict"); code != 0 {
		t.Errorf("success: exit %d", code)
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	if code := Main(ctx, testEnv(&out, &replay{down: true}, []string{"topicList", "-n", "h:9976"})); code != 130 || out.String() != "mqadmin: interrupted\n" {
		t.Errorf("exit %d, %q", code, out.String())
	}
}

func TestWhatIsNotDoneIsSaid(t *testing.T) {
	code, out, errs := runWith(t, "sendMessage", nil, "sendMessage", "-n", "h:9976", "-t", "AdminTopic", "-p", "x", "-m", "true")
	if code != 0 || !strings.Contains(out, "SEND_OK") || !strings.Contains(errs, "traces are not supported") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}

func TestNameServersComeFromTheEnvironment(t *testing.T) {
	if code, out, errs := runWith(t, "topicClusterList", func(e *Env) { e.NameServers = "h:9976" }, "topicClusterList", "-t", "AdminTopic"); code != 0 || out != "GoldenCluster\n" {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	_, _, errs := runWith(t, "topicList", nil, "topicList")
	if !strings.Contains(errs, "RemotingConnectException: connect to  failed") || !strings.Contains(errs, "Hint: no NameServer is given") {
		t.Error(errs)
	}
}

// TestJSON: every command that takes -o json prints one JSON value.
func TestJSON(t *testing.T) {
	recorded := 0
	for _, c := range commands() {
		if _, err := os.Stat("testdata/" + c.name + ".txt"); !c.json || err != nil {
			continue
		}
		recorded++
		args, _, _ := readRecording(t, c.name)
		flag := "--output"
		if !c.takes("o") {
			flag = "-o"
		}
		code, out, errs := runWith(t, c.name, nil, append(args, flag, "json")...)
		if !json.Valid([]byte(out)) || code != 0 || errs != "" {
			t.Errorf("%s: exit %d, %q, %q", c.name, code, out, errs)
		}
	}
	if recorded < 15 {
		t.Errorf("only %d commands were tried", recorded)
	}
	if code, _, errs := runWith(t, "topicList", nil, "topicList", "-o", "xml"); code != 1 || !strings.Contains(errs, "xml") {
		t.Errorf("exit %d, %q", code, errs)
	}
}

func TestNoProgressWithoutATerminal(t *testing.T) {
	args := []string{"topicList", "-n", "h:9976", "-c"}
	_, out, errs := runWith(t, "topicList-c", nil, args...)
	_, withBar, bar := runWith(t, "topicList-c", func(e *Env) { e.Terminal = true }, args...)
	if errs != "" || bar == "" || out != withBar {
		t.Errorf("stderr without terminal %q, with one %q, same stdout: %v", errs, bar, out == withBar)
	}
}

func TestCompletion(t *testing.T) {
	_, out, _ := runWith(t, "none", nil, "__complete", "topicRoute", "--")
	if !strings.Contains(out, "--topic\t") {
		t.Error(out)
	}
	if _, out, _ = runWith(t, "none", nil, "completion", "bash"); !strings.Contains(out, "bash completion") {
		t.Errorf("%.100q", out)
	}
}

// TestEveryCommandIsListedOnce: in the list, or among those to come, and in the documentation, as in the table of Java's commands.
func TestEveryCommandIsListedOnce(t *testing.T) {
	doc, err := os.ReadFile("../../docs/mqadmin.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
		if c.class == "" || c.short == "" || c.run == nil {
			t.Errorf("%s is incomplete", c.name)
		}
		shorts := map[string]bool{}
		for _, o := range c.allOptions() {
			if o.short != "" && shorts[o.short] {
				t.Errorf("%s: option -%s twice", c.name, o.short)
			}
			shorts[o.short] = true
		}
	}
	for n := range notYet() {
		names = append(names, n)
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("a command is listed twice: %v", names)
	}
	if len(names) < 90 {
		t.Errorf("only %d commands", len(names))
	}
	for _, n := range names {
		if !regexp.MustCompile(`\b` + n + `\b`).Match(doc) {
			t.Errorf("docs/mqadmin.md does not mention %s", n)
		}
	}
}
