package conf

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const liveFile = "# our broker\nbrokerName=a\n\n# hours\ndeleteWhen = 04;\\\n   16\nmyOwnKey = kept\nfileReservedTime=48\n"

func startFile(t *testing.T, text string) (*Live[BrokerProcess], string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "broker.conf")
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	l, _, err := Start(DefaultBrokerProcess(Env{}), path, map[string]string{"namesrvAddr": "ns:9876"})
	if err != nil {
		t.Fatal(err)
	}
	return l, path
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestStartPrecedence(t *testing.T) {
	l, _ := startFile(t, "namesrvAddr=file:1\nbrokerName=a\n")
	if got := l.Get().Broker; got.NamesrvAddr != "ns:9876" || got.BrokerName != "a" {
		t.Errorf("flags must win over the file and the file over defaults: %q, %q", got.NamesrvAddr, got.BrokerName)
	}
	if _, _, err := Start(DefaultBrokerProcess(Env{}), filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, _, err := Start(DefaultBrokerProcess(Env{}), "", map[string]string{"listenPort": "x"}); err == nil {
		t.Error("a bad override must be an error")
	}
}

func TestUpdateRewritesOnlyItsLines(t *testing.T) {
	l, path := startFile(t, liveFile)
	before := l.Get()
	var seen []string
	l.Watch(func(old, now *BrokerProcess) { seen = append(seen, old.Store.DeleteWhen+">"+now.Store.DeleteWhen) })
	changes, err := l.Update([]byte("deleteWhen=05\nbrokerPermission=4\nfileReservedTime=48\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []Change{{"deleteWhen", "04;16", "05"}, {"brokerPermission", "6", "4"}}; !reflect.DeepEqual(changes, want) {
		t.Errorf("changes %v, want %v", changes, want)
	}
	if got := l.Get(); got.Store.DeleteWhen != "05" || got.Broker.BrokerPermission != 4 || before.Store.DeleteWhen != "04;16" {
		t.Errorf("snapshot: new %q %d, old %q", got.Store.DeleteWhen, got.Broker.BrokerPermission, before.Store.DeleteWhen)
	}
	want := "# our broker\nbrokerName=a\n\n# hours\ndeleteWhen=05\nmyOwnKey = kept\nfileReservedTime=48\nbrokerPermission=4\n"
	if got := fileText(t, path); got != want {
		t.Errorf("file:\n%s\nwant:\n%s", got, want)
	}
	if got := fileText(t, path+".bak"); got != liveFile {
		t.Errorf("backup:\n%s", got)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if !reflect.DeepEqual(seen, []string{"04;16>05"}) {
		t.Errorf("watchers saw %q", seen)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".broker*")); len(left) > 0 {
		t.Errorf("temporary files left: %v", left)
	}
}

func TestUpdateRefuses(t *testing.T) {
	for body, want := range map[string]string{
		"storePathRootDir=/etc":             "storePathRootDir: cannot be changed remotely",
		"storePathCommitLog=/etc":           "storePathCommitLog: cannot be changed remotely",
		"namesrvAddr=evil:1":                "namesrvAddr: cannot be changed remotely",
		"listenPort=1":                      "listenPort: cannot be changed remotely",
		"brokerIP1=evil":                    "brokerIP1: cannot be changed remotely",
		"tls.server.certPath=/x":            "tls.server.certPath: cannot be changed remotely",
		"rocketmqHome=-c $@|sh . echo id;":  "rocketmqHome: has no effect",
		"filterServerNums=1":                "filterServerNums: has no effect",
		"configBlackList=":                  BlackListRemark + " configBlackList: is in configBlackList",
		"brokerConfigPath=/tmp/x":           BlackListRemark,
		"brokerPermision=4":                 "brokerPermision: unknown key, did you mean brokerPermission?",
		"brokerPermission=rw":               `brokerPermission: "rw" is not a 32-bit integer`,
		"brokerPermission=9":                "brokerPermission: 9 is outside 0..7",
		"traceOn=off":                       `traceOn: "off" is taken as false`,
		"traceOn=\\u1":                      "malformed escape",
		"traceOn=false\nbrokerName=other":   "brokerName: cannot be changed remotely",
		"kvConfigPath=/etc/cron.d/x":        "kvConfigPath: unknown key",
		"traceOn=false\nlistenPort=1\nx1=2": "listenPort: cannot be changed remotely; set it in the configuration file and restart; x1: unknown key",
	} {
		l, path := startFile(t, liveFile)
		changes, err := l.Update([]byte(body))
		var ue *UpdateError
		if !errors.As(err, &ue) || !strings.Contains(err.Error(), want) {
			t.Errorf("Update(%q) = %v, %v; want an *UpdateError with %q", body, changes, err, want)
		}
		if got := l.Get(); !got.Broker.TraceOn || fileText(t, path) != liveFile {
			t.Errorf("Update(%q) was refused but changed something", body)
		}
	}
}

// TestNothingRemoteReachesPathsOrAddresses keeps the allow list honest when keys are added.
func TestNothingRemoteReachesPathsOrAddresses(t *testing.T) {
	for _, target := range []any{&BrokerProcess{}, &NamesrvProcess{}} {
		for _, f := range fieldsOf(target) {
			if !f.live {
				continue
			}
			lower := strings.ToLower(f.key)
			for _, word := range []string{"path", "dir", "addr", "port", "ip1", "ip2", "home", "file", "tls", "blacklist", "host"} {
				if strings.Contains(lower, word) && f.key != "fileReservedTime" && f.key != "cleanFileForciblyEnable" && f.key != "supportActingMaster" {
					t.Errorf("%s may be changed remotely and smells of %q", f.key, word)
				}
			}
		}
	}
}

func TestUpdateThatCannotBeSavedChangesNothing(t *testing.T) {
	l, path := startFile(t, liveFile)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Update([]byte("traceOn=false")); err == nil || !l.Get().Broker.TraceOn {
		t.Errorf("error %v, traceOn %v", err, l.Get().Broker.TraceOn)
	}
}

func TestUpdateWithoutFile(t *testing.T) {
	l := NewLive(DefaultNamesrvProcess(Env{}))
	if l.Persistent() {
		t.Error("persistent without a file")
	}
	if _, err := l.Update([]byte("orderMessageEnable=true")); err != nil || !l.Get().Namesrv.OrderMessageEnable {
		t.Errorf("error %v, value %v", err, l.Get().Namesrv.OrderMessageEnable)
	}
	if _, err := l.Reload(); !errors.Is(err, ErrNoFile) {
		t.Errorf("Reload: %v", err)
	}
}

func TestReload(t *testing.T) {
	l, path := startFile(t, liveFile)
	text := strings.Replace(liveFile, "brokerName=a", "brokerName=b\nfileReservedTime=24", 1) + "fileReservedTime=96\nnamesrvAddr=x:1\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := l.Reload()
	if err != nil {
		t.Fatal(err)
	}
	if want := []Change{{"fileReservedTime", "48", "96"}}; !reflect.DeepEqual(r.Changed, want) {
		t.Errorf("changed %v, want %v", r.Changed, want)
	}
	if want := []Change{{"brokerName", "a", "b"}}; !reflect.DeepEqual(r.NeedsRestart, want) {
		t.Errorf("needs restart %v, want %v (the flag still wins for namesrvAddr)", r.NeedsRestart, want)
	}
	if got := l.Get(); got.Store.FileReservedTime != 96 || got.Broker.BrokerName != "a" {
		t.Errorf("now %d, %s", got.Store.FileReservedTime, got.Broker.BrokerName)
	}
}

func TestTextHasFileKeysAndIsReadBack(t *testing.T) {
	l, _ := startFile(t, liveFile)
	text := l.Text()
	for _, want := range []string{"brokerName=a\n", "deleteWhen=04;16\n", "myOwnKey=kept\n", "namesrvAddr=ns:9876\n", "listenPort=10911\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("text lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "storePathCommitLog") {
		t.Error("empty values must be left out")
	}
	entries, err := ParseText([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(entries); i++ {
		if entries[i-1].Key >= entries[i].Key {
			t.Errorf("%s before %s: not sorted", entries[i-1].Key, entries[i].Key)
		}
	}
}

func TestPrint(t *testing.T) {
	p := DefaultBrokerProcess(Env{})
	var all, important strings.Builder
	if err := errors.Join(Print(&all, "> ", &p, false), Print(&important, "> ", &p, true)); err != nil {
		t.Fatal(err)
	}
	if strings.Count(all.String(), "> listenPort=10911\n") != 1 || !strings.Contains(all.String(), "> storePathCommitLog=\n") {
		t.Errorf("-p prints\n%s", all.String())
	}
	if !strings.Contains(important.String(), "> brokerName=DEFAULT_BROKER\n") || strings.Contains(important.String(), "traceOn") {
		t.Errorf("-m prints\n%s", important.String())
	}
}

func TestTLSFile(t *testing.T) {
	dir := t.TempDir()
	tls := filepath.Join(dir, "tls.properties")
	if err := os.WriteFile(tls, []byte("tls.server.mode=disabled\ntls.server.certPath=/c.pem\nlistenPort=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, _, err := Start(DefaultBrokerProcess(Env{}), "", map[string]string{"tls.config.file": tls})
	if err != nil {
		t.Fatal(err)
	}
	if s := l.Get().Server; s.TLSServerMode != "permissive" || s.TLSServerCertPath != "/c.pem" || s.ListenPort != 10911 {
		t.Errorf("server %+v", s)
	}
}

func TestRewriteKeepsLineEnds(t *testing.T) {
	got, err := rewrite([]byte("a=1\r\n# c\r\nb=2"), []Change{{"a", "1", `C:\x`}, {"z", "", "é"}})
	if want := "a=C:\\\\x\r\n# c\r\nb=2\r\nz=\\u00E9\r\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestReloadChangesAddresses: whoever can write the file may name other NameServers; a remote peer may not.
func TestReloadChangesAddresses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broker.conf")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("namesrvAddr=a:1")
	l, _, err := Start(DefaultBrokerProcess(Env{}), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Update([]byte("namesrvAddr=evil:1")); err == nil {
		t.Error("a remote peer changed namesrvAddr")
	}
	write("namesrvAddr=b:1")
	if _, err := l.Reload(); err != nil || l.Get().Broker.NamesrvAddr != "b:1" {
		t.Errorf("after a reload %q, %v", l.Get().Broker.NamesrvAddr, err)
	}
}
