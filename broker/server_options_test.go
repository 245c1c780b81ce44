package broker_test

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/fs"
)

// call sends one request over a connection of its own, with or without TLS.
func callOver(t *testing.T, b *brokertest.Broker, secure bool, req *protocol.Command) (*protocol.Command, error) {
	t.Helper()
	o := remoting.ClientOptions{}
	if secure {
		o.TLS = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the certificate is made at the broker's start
	}
	c := remoting.NewClient(o)
	defer c.Close()
	return c.Invoke(context.Background(), b.Addr().String(), req)
}

func sendOf(n int) *protocol.Command {
	return protocol.NewRequest(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, ""), make([]byte, n))
}

// The tls.* keys decide who may talk to the broker.
func TestTLSKeys(t *testing.T) {
	for mode, can := range map[string]struct{ plain, secure bool }{"permissive": {true, true}, "enforcing": {false, true}, "disabled": {true, false}} {
		b := brokertest.Start(t, func(o *broker.Options) { o.Server.TLSServerMode, o.Server.TLSTestMode = mode, true })
		for _, secure := range []bool{false, true} {
			r, err := callOver(t, b, secure, sendOf(10))
			if ok := err == nil && r.Code == protocol.RespSuccess; ok != (secure && can.secure || !secure && can.plain) {
				t.Errorf("%s, TLS %v: %v, %v", mode, secure, r, err)
			}
		}
	}
	b := brokertest.Start(t, func(o *broker.Options) { o.Server.TLSTestMode = false })
	if r, err := callOver(t, b, true, sendOf(10)); err == nil {
		t.Errorf("TLS without a certificate: %v", r)
	}
}

func TestFrameMaxLength(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Server.FrameMaxLength = 100_000 })
	if r, err := callOver(t, b, false, sendOf(90_000)); err != nil || r.Code != protocol.RespSuccess {
		t.Errorf("%v, %v", r, err)
	}
	if r, err := callOver(t, b, false, sendOf(110_000)); err == nil && r.Code == protocol.RespSuccess {
		t.Error("took a frame above the limit")
	}
}

// A broker whose certificate cannot be read says so and does not start.
func TestCertificateMissing(t *testing.T) {
	o := brokertest.Options(t.TempDir())
	o.Server.TLSServerCertPath, o.Server.TLSServerKeyPath = "/none/cert.pem", "/none/key.pem"
	b, err := broker.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(); err == nil || !strings.Contains(err.Error(), "tls.server.certPath") {
		t.Error(err)
	}
}

// Limits of the store change while the broker runs, upwards too.
func TestLiveLimits(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.Store.MaxMessageSize = 1000 })
	c := brokertest.Dial(t, b.Addr())
	update := func(text string) { t.Helper(); c.Must(protocol.ReqUpdateBrokerConfig, nil, []byte(text), nil) }
	size := func(n int, want protocol.ResponseCode) {
		t.Helper()
		if r := c.Call(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, ""), make([]byte, n)); r.Code != want {
			t.Errorf("%d bytes: code %d, %s", n, r.Code, r.Remark)
		}
	}
	size(1001, protocol.RespMessageIllegal)
	update("maxMessageSize=2000\ndeleteWhen=03;15\nfileReservedTime=1\ndiskMaxUsedSpaceRatio=80\ndiskSpaceCleanForciblyRatio=84\ncleanFileForciblyEnable=false\n")
	size(2000, protocol.RespSuccess)
	size(2001, protocol.RespMessageIllegal)
	update("maxMessageSize=100\n")
	size(101, protocol.RespMessageIllegal)
	if strings.Contains(b.Log(), "next start") {
		t.Error(b.Log())
	}
	r := c.Call(protocol.ReqUpdateBrokerConfig, nil, []byte("brokerConfigPath=/x\n"))
	if r.Code != protocol.RespNoPermission || r.Remark != conf.BlackListRemark {
		t.Errorf("%d %q, want exactly %q", r.Code, r.Remark, conf.BlackListRemark)
	}
	if !strings.Contains(b.Log(), "brokerConfigPath: is in configBlackList") {
		t.Error("the log does not say which key")
	}
}

// halfFull is a file system on a disk that is half full.
type halfFull struct{ fs.OS }

func (halfFull) Usage(string) (fs.Usage, error) {
	return fs.Usage{Total: 2 << 40, Free: 1 << 40, UsedRatio: 0.5}, nil
}

// A ratio that the disk is above stops sends at once, and one that it is below lets them go on.
func TestLiveDiskRatio(t *testing.T) {
	b := brokertest.Start(t, func(o *broker.Options) { o.FS = halfFull{} })
	c := brokertest.Dial(t, b.Addr())
	c.Send("T", 0, "", "x")
	c.Must(protocol.ReqUpdateBrokerConfig, nil, []byte("diskSpaceWarningLevelRatio=40\n"), nil)
	if r := c.Call(protocol.ReqSendMessageV2, brokertest.SendHeader("T", 0, ""), nil); r.Code == protocol.RespSuccess || !strings.Contains(r.Remark, "the limit is 40 %") {
		t.Errorf("%d %s", r.Code, r.Remark)
	}
	c.Must(protocol.ReqUpdateBrokerConfig, nil, []byte("diskSpaceWarningLevelRatio=60\n"), nil)
	c.Send("T", 0, "", "x")
}
