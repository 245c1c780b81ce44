package conf

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// BrokerProcess is everything a broker process is configured with. Keys that two parts share (listenPort) set both.
type BrokerProcess struct {
	Broker Broker
	Store  Store
	Server Server
}

// NamesrvProcess is everything a NameServer process is configured with.
type NamesrvProcess struct {
	Namesrv Namesrv
	Server  Server
}

// DefaultBrokerProcess returns the defaults; e.Port 0 stands for 10911.
func DefaultBrokerProcess(e Env) BrokerProcess {
	if e.Port == 0 {
		e.Port = DefaultBrokerPort
	}
	var p BrokerProcess
	setDefaults(e, &p)
	return p
}

// DefaultNamesrvProcess returns the defaults; e.Port 0 stands for 9876.
func DefaultNamesrvProcess(e Env) NamesrvProcess {
	if e.Port == 0 {
		e.Port = DefaultNamesrvPort
	}
	var p NamesrvProcess
	setDefaults(e, &p)
	return p
}

// DefaultBroker returns the defaults of Broker.
func DefaultBroker(e Env) Broker { return DefaultBrokerProcess(e).Broker }

// DefaultStore returns the defaults of Store.
func DefaultStore(e Env) Store { return DefaultBrokerProcess(e).Store }

// DefaultServer returns the defaults of Server; e.Port is taken as it is, so 0 lets the system choose.
func DefaultServer(e Env) Server {
	var s Server
	setDefaults(e, &s)
	return s
}

// DefaultNamesrv returns the defaults of Namesrv.
func DefaultNamesrv(e Env) Namesrv { return DefaultNamesrvProcess(e).Namesrv }

// Errors of Validate that programs map to RocketMQ's exit statuses.
var (
	// ErrNamesrvAddr: namesrvAddr is not host:port;host:port.
	ErrNamesrvAddr = errors.New("bad namesrvAddr")
	// ErrBrokerRole: brokerRole and brokerId do not fit together, or the role is not available.
	ErrBrokerRole = errors.New("bad brokerRole")
)

// Validate reports all mistakes that make a start pointless, joined.
func (p *BrokerProcess) Validate() error {
	var errs []error
	if _, err := ParseAddrs(p.Broker.NamesrvAddr); err != nil {
		errs = append(errs, fmt.Errorf("The Name Server Address[%s] illegal, please set it as follows, "+
			"\"127.0.0.1:9876;192.168.0.1:9876\": %w: %w", p.Broker.NamesrvAddr, ErrNamesrvAddr, err))
	}
	if p.Store.BrokerRole == "SLAVE" {
		if p.Broker.BrokerID <= 0 {
			errs = append(errs, fmt.Errorf("Slave's brokerId must be > 0: %w", ErrBrokerRole))
		} else {
			errs = append(errs, fmt.Errorf("brokerRole=SLAVE: replication is not available in this version: %w", ErrBrokerRole))
		}
	}
	if p.Broker.BrokerName == "" || p.Broker.BrokerClusterName == "" {
		errs = append(errs, errors.New("brokerName and brokerClusterName must not be empty"))
	}
	if p.Store.MappedFileSizeCommitLog < 1024 || p.Store.MappedFileSizeConsumeQueue < 20 {
		errs = append(errs, errors.New("mappedFileSizeCommitLog must be at least 1024, mappedFileSizeConsumeQueue at least 20"))
	}
	return errors.Join(errs...)
}

// ParseAddrs splits "host:port;host:port". "" gives no addresses and no error.
func ParseAddrs(list string) ([]string, error) {
	var out []string
	for _, a := range strings.Split(list, ";") {
		if a = strings.TrimSpace(a); a == "" {
			continue
		}
		_, port, err := net.SplitHostPort(a)
		if err != nil {
			return nil, err
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("address %s: bad port", a)
		}
		out = append(out, a)
	}
	return out, nil
}
