package outer

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

func splitHostPort(entry string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(entry)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not host:port", entry)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || host == "" {
		return "", 0, fmt.Errorf("%q is not host:port", entry)
	}
	return host, uint16(n), nil
}

func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// resolve lists the addresses behind one entry. A name that has addresses of both families is taken by IPv4 alone:
// both lead to the same process as a rule.
func (r *Registrar) resolve(ctx context.Context, entry string) ([]string, error) {
	host, port, err := splitHostPort(entry)
	if err != nil {
		return nil, err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return []string{netip.AddrPortFrom(ip.Unmap(), port).String()}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	ips, err := r.o.Lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(ips, func(a netip.Addr) bool { return a.Unmap().Is4() }) {
		ips = slices.DeleteFunc(slices.Clone(ips), func(a netip.Addr) bool { return !a.Unmap().Is4() })
	}
	list := make([]string, 0, len(ips))
	for _, ip := range ips {
		list = append(list, netip.AddrPortFrom(ip.Unmap(), port).String())
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// resolveLoop keeps the set of peers equal to what the names stand for.
func (r *Registrar) resolveLoop(ctx context.Context) {
	known := map[string][]string{} // entry → its addresses, kept when a look-up fails
	timer := r.o.Clock.NewTimer(r.o.ResolveEvery)
	defer timer.Stop()
	for {
		r.mu.Lock()
		names := r.mu.names
		r.mu.Unlock()
		var want []string
		failed := false
		for _, name := range names {
			addrs, err := r.resolve(ctx, name)
			if err != nil {
				failed = true
				r.o.Log.Limited(r.o.Clock, "outer-resolve "+name, time.Minute).Warnf("NameServer %s: %v", name, err)
			} else {
				known[name] = addrs
			}
			want = append(want, known[name]...)
		}
		if ctx.Err() != nil {
			return
		}
		r.setPeers(want)
		rearm(timer, r.resolvePause(failed))
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-timer.C():
		}
	}
}

// resolvePause is shorter after a failure: at start the name service may not be up yet.
func (r *Registrar) resolvePause(failed bool) time.Duration {
	if failed {
		return min(maxBackoff, r.o.ResolveEvery)
	}
	return r.o.ResolveEvery
}

// setPeers starts peers for new addresses and lets go of the others.
func (r *Registrar) setPeers(want []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, addr := range want {
		if r.mu.peers[addr] != nil {
			continue
		}
		p := newPeer(r, addr)
		if r.g.Go("outer "+addr, p.loop) != nil {
			return // closing
		}
		r.mu.peers[addr] = p
	}
	for addr, p := range r.mu.peers {
		if slices.Contains(want, addr) {
			continue
		}
		delete(r.mu.peers, addr)
		_ = r.g.Go("outer-leave "+addr, func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, unregisterTimeout)
			defer cancel()
			p.stop()
			if err := p.leave(ctx); err != nil {
				r.o.Log.Infof("%v", err)
			}
		}) // refused while closing: the connection is closed all the same
	}
}
