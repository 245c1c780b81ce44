package conf

import (
	"reflect"
	"strings"
	"testing"
)

func apply(t *testing.T, text string) (BrokerProcess, []string) {
	t.Helper()
	p := DefaultBrokerProcess(Env{})
	src, err := Parse("broker.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, pr := range src.Apply(&p) {
		out = append(out, pr.String())
	}
	return p, out
}

func TestDefaults(t *testing.T) {
	p := DefaultBrokerProcess(Env{Home: "/home/u/", Hostname: "h", IP: "192.0.2.1", Namesrv: "ns:9876"})
	for _, tt := range []struct{ got, want any }{
		{p.Store.StorePathRootDir, "/home/u/store"},
		{p.Broker.BrokerName, "h"},
		{p.Broker.BrokerClusterName, "DefaultCluster"},
		{p.Broker.BrokerID, int64(0)},
		{p.Broker.BrokerIP1, "192.0.2.1"},
		{p.Broker.NamesrvAddr, "ns:9876"},
		{p.Broker.ListenPort, 10911},
		{p.Server.ListenPort, 10911},
		{p.Store.HAListenPort, 0},
		{DefaultNamesrvProcess(Env{}).Server.ListenPort, 9876},
		{DefaultServer(Env{}).ListenPort, 0},
		{DefaultStore(Env{}).StorePathRootDir, "store"},
		{DefaultBroker(Env{}).BrokerName, "DEFAULT_BROKER"},
		{DefaultNamesrv(Env{Home: "/h"}).KvConfigPath, "/h/namesrv/kvConfig.json"},
	} {
		if tt.got != tt.want {
			t.Errorf("default %v, want %v", tt.got, tt.want)
		}
	}
}

func TestApplyShippedFile(t *testing.T) {
	p, problems := apply(t, "brokerClusterName = DefaultCluster\nbrokerName = broker-a\nbrokerId = 0\ndeleteWhen = 04\n"+
		"fileReservedTime = 48\nbrokerRole = ASYNC_MASTER\nflushDiskType = ASYNC_FLUSH\nlistenPort=10921\n")
	if len(problems) != 0 {
		t.Errorf("problems with the shipped file: %q", problems)
	}
	if p.Broker.BrokerName != "broker-a" || p.Store.FileReservedTime != 48 || p.Broker.ListenPort != 10921 || p.Server.ListenPort != 10921 {
		t.Errorf("not applied: %+v", p)
	}
}

func TestApplyConversions(t *testing.T) {
	p, problems := apply(t, strings.Join([]string{
		"brokerId=0 # master",
		"traceOn=yes",
		"autoCreateTopicEnable=TRUE",
		"longPollingEnable=true ",
		"flushDiskType=sync_flush",
		"brokerRole=SYNC_MASTER",
		"brokerName=  a  ",
		"regionId=r1 # here",
		"fileReservedTime=4_8",
		"maxMessageSize=4294967296",
		"diskMaxUsedSpaceRatio=99",
		"startAcceptSendRequestTimeStamp=+500",
		"deleteWhen=\xe9",
	}, "\n"))
	for _, tt := range []struct{ got, want any }{
		{p.Broker.BrokerID, int64(0)}, {p.Broker.TraceOn, false}, {p.Broker.AutoCreateTopicEnable, true},
		{p.Broker.LongPollingEnable, false}, {p.Store.FlushDiskType, "ASYNC_FLUSH"}, {p.Store.BrokerRole, "SYNC_MASTER"},
		{p.Broker.BrokerName, "a"}, {p.Store.FileReservedTime, 72}, {p.Store.MaxMessageSize, 4194304},
		{p.Store.DiskMaxUsedSpaceRatio, 95}, {p.Broker.StartAcceptSendRequestTimeStamp, int64(500)},
	} {
		if tt.got != tt.want {
			t.Errorf("value %v, want %v", tt.got, tt.want)
		}
	}
	want := []string{
		`broker.conf:1: brokerId: "0 # master" is not a 64-bit integer ("# master" belongs to the value: a comment needs a line of its own); the default "0" stays`,
		`broker.conf:2: traceOn: "yes" is taken as false: only the word true is true`,
		`broker.conf:4: longPollingEnable: "true " is taken as false: only the word true is true (blanks at the end belong to the value)`,
		`broker.conf:5: flushDiskType: "sync_flush" is not one of ASYNC_FLUSH, SYNC_FLUSH; the default "ASYNC_FLUSH" stays`,
		`broker.conf:8: regionId: the value is "r1 # here" ("# here" belongs to the value: a comment needs a line of its own)`,
		`broker.conf:9: fileReservedTime: "4_8" is not a 32-bit integer; the default "72" stays`,
		`broker.conf:10: maxMessageSize: "4294967296" is not a 32-bit integer; the default "4194304" stays`,
		`broker.conf:11: diskMaxUsedSpaceRatio: 99 is outside 10..95, 95 is used`,
		`broker.conf:13: deleteWhen: bytes above 127 are read as ISO-8859-1; write other characters as \uXXXX`,
	}
	if !reflect.DeepEqual(problems, want) {
		t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(problems, "\n"), strings.Join(want, "\n"))
	}
}

func TestApplyKeysNobodyReads(t *testing.T) {
	_, problems := apply(t, strings.Join([]string{
		"brokerNme=a",
		"mapedFileSizeCommitLog=1073741824",
		"adminBrokerThreadPoolNums=16",
		"enableCalcFilterBitMap=false",
		"enableCalcFilterBitMap=true",
		"enableDLegerCommitLog=true",
		"kvConfigPath=/x",
		"zzzzzzzzzzzzzzzzzzzzzzz=1",
		"timerWheelEnable=true",
	}, "\n"))
	want := []string{
		`broker.conf: accepted and ignored, because only the Java implementation reads them, or nobody does: mapedFileSizeCommitLog (use mappedFileSizeCommitLog), adminBrokerThreadPoolNums`,
		`broker.conf:1: brokerNme: unknown key, did you mean brokerName?`,
		`broker.conf:4: enableCalcFilterBitMap: given again in line 5, which counts`,
		`broker.conf:5: enableCalcFilterBitMap: has no effect in this version`,
		`broker.conf:6: enableDLegerCommitLog: true is not available in this version; starting without it would not keep what it promises`,
		`broker.conf:7: kvConfigPath: is a key of namesrv.conf and has no effect here`,
		`broker.conf:8: zzzzzzzzzzzzzzzzzzzzzzz: unknown key`,
	}
	if !reflect.DeepEqual(problems, want) {
		t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(problems, "\n"), strings.Join(want, "\n"))
	}
}

func TestOnlyBrokenPromisesRefuseTheStart(t *testing.T) {
	for text, want := range map[string]bool{
		"enableControllerMode=true": true, "authenticationEnabled=true": true, "enableControllerMode=false": false,
		"aclEnable=true": false, "brokerNme=a": false,
	} {
		src, err := Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		refuse := false
		for _, p := range src.Apply(&BrokerProcess{}) {
			refuse = refuse || p.Refuse
		}
		if refuse != want {
			t.Errorf("%s: refuse = %v, want %v", text, refuse, want)
		}
	}
}

// TestCatalogueIsSound: every row has a known class, no row repeats a struct's key, every hint names a known key.
func TestCatalogueIsSound(t *testing.T) {
	c := theCatalogue()
	if len(c.inert) < 400 {
		t.Fatalf("only %d inert keys: inert.tsv is not read", len(c.inert))
	}
	for key, k := range c.inert {
		switch k.class {
		case inertInternal, inertLegacy, inertLater, inertRefuse:
		default:
			t.Errorf("%s: class %q", key, k.class)
		}
		if _, both := c.owner[key]; both {
			t.Errorf("%s is in inert.tsv and in a struct", key)
		}
		_, inert := c.inert[k.use]
		if _, owned := c.owner[k.use]; k.use != "" && !owned && !inert {
			t.Errorf("%s: hint %q is not a known key", key, k.use)
		}
	}
}

func TestNearest(t *testing.T) {
	for key, want := range map[string]string{
		"brokername": "brokerName", "deletewhen": "deleteWhen", "nameSrvAddr": "namesrvAddr", "fileReserveTime": "fileReservedTime",
		"storePathRoot": "storePathRootDir", "x": "", "autoCreateTopicEnabled": "autoCreateTopicEnable",
	} {
		if got := theCatalogue().nearest(key); got != want {
			t.Errorf("nearest(%s) = %s, want %s", key, got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*BrokerProcess)
		want string
	}{
		"defaults":      {func(*BrokerProcess) {}, ""},
		"names":         {func(p *BrokerProcess) { p.Broker.NamesrvAddr = "ns-0.ns:9876;[::1]:9876;" }, ""},
		"no port":       {func(p *BrokerProcess) { p.Broker.NamesrvAddr = "localhost" }, "The Name Server Address[localhost] illegal"},
		"slave without": {func(p *BrokerProcess) { p.Store.BrokerRole = "SLAVE" }, "Slave's brokerId must be > 0"},
		"slave":         {func(p *BrokerProcess) { p.Store.BrokerRole, p.Broker.BrokerID = "SLAVE", 1 }, "replication is not available"},
		"nameless":      {func(p *BrokerProcess) { p.Broker.BrokerName = "" }, "must not be empty"},
	} {
		p := DefaultBrokerProcess(Env{})
		tt.edit(&p)
		err := p.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
