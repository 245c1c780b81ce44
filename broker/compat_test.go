package broker

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// compatRow is a line of the table of requests in docs/compat.md.
type compatRow struct{ name, at, state, note string }

const (
	codesFile  = "../remoting/protocol/codes_request.go"
	compatFile = "../docs/compat.md"
)

// codeLine finds `ReqX RequestCode = 10 // NAME`.
var codeLine = regexp.MustCompile(`(?m)^\s*Req\w+\s+RequestCode = (\d+)\s*// (\w+)`)

func compatRows(t *testing.T) map[int]compatRow {
	t.Helper()
	text, err := os.ReadFile(compatFile)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[int]compatRow{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 5 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		code, err := strconv.Atoi(cells[0])
		if err != nil {
			continue
		}
		if _, twice := rows[code]; twice {
			t.Errorf("%s: request %d twice", compatFile, code)
		}
		rows[code] = compatRow{cells[1], cells[2], cells[3], cells[4]}
	}
	return rows
}

// TestCompatTable: docs/compat.md says of every request what becomes of it, and says the truth about the broker.
func TestCompatTable(t *testing.T) {
	source, err := os.ReadFile(codesFile)
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(Options{Broker: conf.DefaultBroker(conf.Env{}), Store: conf.DefaultStore(conf.Env{Home: t.TempDir()}), Server: conf.Server{BindAddress: "127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	routes, err := b.routes()
	if err != nil {
		t.Fatal(err)
	}
	served := map[int]bool{}
	for _, r := range routes {
		served[int(r.Code)] = true
	}
	rows := compatRows(t)
	known := map[int]bool{}
	for _, m := range codeLine.FindAllStringSubmatch(string(source), -1) {
		code, _ := strconv.Atoi(m[1])
		known[code] = true
		row, there := rows[code]
		here := row.at == "broker" || row.at == "both"
		switch {
		case !there:
			t.Errorf("%s lacks a row: | %d | %s | ... |", compatFile, code, m[2])
		case row.name != m[2]:
			t.Errorf("%s: request %d is %s, not %s", compatFile, code, m[2], row.name)
		case !slices.Contains([]string{"served", "refused", "no", "sent", "sent, served"}, row.state):
			t.Errorf("%s: request %d: state %q is none", compatFile, code, row.state)
		case here && (row.state == "served" || row.state == "refused") != served[code]:
			t.Errorf("%s: request %d is %s at the broker, but the table of handlers has it: %v", compatFile, code, row.state, served[code])
		case !here && served[code]:
			t.Errorf("%s: request %d is in the broker's table of handlers, but at %s", compatFile, code, row.at)
		case row.state != "served" && row.note == "":
			t.Errorf("%s: request %d is not served, and the note does not say why", compatFile, code)
		}
	}
	if len(known) < 150 {
		t.Fatalf("only %d codes found in %s", len(known), codesFile)
	}
	for _, code := range slices.Sorted(maps.Keys(rows)) {
		if !known[code] {
			t.Errorf("%s: request %d is not in %s", compatFile, code, codesFile)
		}
	}
}

func TestRoutesAreUnique(t *testing.T) {
	b, err := New(Options{Broker: conf.DefaultBroker(conf.Env{}), Store: conf.DefaultStore(conf.Env{Home: t.TempDir()}), Server: conf.Server{BindAddress: "127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	routes, err := b.routes()
	if err != nil {
		t.Fatal(err)
	}
	pools := b.pools()
	for _, r := range routes {
		if _, ok := pools[r.Pool]; r.Pool != "" && !ok {
			t.Error(fmt.Errorf("request %d: no pool %q", r.Code, r.Pool))
		}
	}
	if len(routes) < 40 || protocol.ReqSendMessage != 10 {
		t.Error(len(routes))
	}
}
