package conf

import (
	"strconv"
	"strings"
)

// Env is what the host contributes to the defaults. The zero value is usable and gives the same defaults everywhere.
type Env struct {
	Home     string // home directory; "" stands for the working directory
	Hostname string // default of brokerName; "" stands for DEFAULT_BROKER
	IP       string // first usable local address; "" stands for 127.0.0.1
	Namesrv  string // NAMESRV_ADDR
	Port     int    // default of listenPort
}

// Default ports.
const (
	DefaultBrokerPort  = 10911
	DefaultNamesrvPort = 9876
)

// expand computes a default tag: plain text, or one of the $ forms below.
func (e Env) expand(def string) string {
	if !strings.HasPrefix(def, "$") {
		return def
	}
	switch name, rest, _ := strings.Cut(def[1:], "/"); name {
	case "home":
		if e.Home == "" {
			return rest
		}
		return strings.TrimSuffix(e.Home, "/") + "/" + rest
	case "hostname":
		return orElse(e.Hostname, "DEFAULT_BROKER")
	case "ip":
		return orElse(e.IP, "127.0.0.1")
	case "namesrv":
		return e.Namesrv
	case "port":
		return strconv.Itoa(e.Port)
	}
	panic("conf: unknown default " + def)
}

func orElse(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
