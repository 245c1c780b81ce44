package bench

import (
	"testing"

	"github.com/seedmq/seedmq/broker/brokertest"
)

// TestModesOnOurBroker runs every mode against a broker of ours.
func TestModesOnOurBroker(t *testing.T) {
	addr := brokertest.Start(t).Addr().String()
	for _, c := range []struct {
		want int64
		args []string
	}{
		{2000, []string{"send", "-m", "2000", "--topics", "3", "--keys", "10", "--tags", "a,b"}},
		{4000, []string{"consume", "--topics", "3", "--groups", "2"}},
		{640, []string{"send", "-m", "640", "-t", "Batches", "--batch", "16", "--binary-header"}},
		{640, []string{"consume", "-t", "Batches", "--binary-header"}},
		{500, []string{"send", "-m", "500", "-t", "OneWay", "--oneway"}},
		{200, []string{"e2e", "-m", "200", "-t", "E2E", "-r", "2000"}},
	} {
		code, r, errs := runMode(t, append(c.args, "-b", addr, "-q", "2", "--conns", "2", "-s", "100", "-i", "0")...)
		if code != 0 || r.Messages != c.want {
			t.Errorf("%v: exit %d, %+v, %s", c.args, code, r, errs)
		}
	}
}
