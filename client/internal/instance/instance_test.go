package instance

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// fakeNet answers by address: a nil error is a reply whose remark is the address.
type fakeNet struct {
	fail  map[string]error
	asked []string
}

func (f *fakeNet) Invoke(_ context.Context, addr string, _ *protocol.Command) (*protocol.Command, error) {
	f.asked = append(f.asked, addr)
	if err := f.fail[addr]; err != nil {
		return nil, err
	}
	return &protocol.Command{Remark: addr}, nil
}

func request() *protocol.Command {
	return protocol.NewRequest(protocol.ReqGetBrokerClusterInfo, nil, nil)
}

func TestNameServerFailOver(t *testing.T) {
	net := &fakeNet{fail: map[string]error{"a:1": errors.New("refused")}}
	i := New(net, []string{"a:1", "b:1", "c:1"})
	for range 2 { // the second time b is asked first
		if _, addr, err := i.InvokeNameServer(context.Background(), request(), time.Second); err != nil || addr != "b:1" {
			t.Fatalf("%s, %v", addr, err)
		}
	}
	if want := []string{"a:1", "b:1", "b:1"}; !slices.Equal(net.asked, want) {
		t.Errorf("asked %v, want %v", net.asked, want)
	}
	net.fail["b:1"] = errors.New("down now")
	if _, addr, err := i.InvokeNameServer(context.Background(), request(), time.Second); err != nil || addr != "c:1" {
		t.Errorf("%s, %v", addr, err)
	}
	net.fail["c:1"] = errors.New("down too")
	_, _, err := i.InvokeNameServer(context.Background(), request(), time.Second)
	var conn *ConnectError
	if !errors.As(err, &conn) || conn.Addr == "" {
		t.Errorf("all down: %v", err)
	}
}

func TestNoNameServer(t *testing.T) {
	_, _, err := New(&fakeNet{}, nil).InvokeNameServer(context.Background(), request(), time.Second)
	if !errors.Is(err, ErrNoNameServer) {
		t.Error(err)
	}
}

// silent never answers.
type silent struct{}

func (silent) Invoke(ctx context.Context, _ string, _ *protocol.Command) (*protocol.Command, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestTimeLimitAndCancel(t *testing.T) {
	i := New(silent{}, nil)
	_, err := i.Invoke(context.Background(), "x:1", request(), time.Millisecond)
	var late *TimeoutError
	if !errors.As(err, &late) || late.Addr != "x:1" || late.After != time.Millisecond {
		t.Errorf("time limit: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := i.Invoke(ctx, "x:1", request(), time.Hour); !errors.Is(err, context.Canceled) || errors.As(err, &late) {
		t.Errorf("cancel: %v", err)
	}
}

func TestSplitAddrs(t *testing.T) {
	if got := SplitAddrs(" a:1; b:2 ,;c:3;"); !slices.Equal(got, []string{"a:1", "b:2", "c:3"}) {
		t.Error(got)
	}
}
