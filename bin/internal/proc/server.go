package proc

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
)

// ServerFlags are the flags of mqnamesrv and mqbroker: RocketMQ's, and the log level and version of ours.
type ServerFlags struct {
	ConfigFile, NamesrvAddr, LogLevel string
	PrintAll, PrintImportant, version bool
}

// Parse reads args; see FlagSet.Parse.
func (f *ServerFlags) Parse(program, configUsage string, args []string, stdout, stderr io.Writer) (status int, done bool) {
	f.LogLevel = "info"
	set := NewFlagSet(program,
		Flag{Name: "configFile", Short: "c", Usage: configUsage, Value: &f.ConfigFile},
		Flag{Name: "namesrvAddr", Short: "n", Usage: "Name server address list, eg: '192.168.0.1:9876;192.168.0.2:9876'", Value: &f.NamesrvAddr},
		Flag{Name: "printConfigItem", Short: "p", Usage: "Print all config items", Bool: &f.PrintAll},
		Flag{Name: "printImportantConfig", Short: "m", Usage: "Print important config items", Bool: &f.PrintImportant},
		Flag{Name: "logLevel", Usage: "debug, info, warn or error; the log goes to stderr", Value: &f.LogLevel},
		Flag{Name: "version", Usage: "Print the version", Bool: &f.version})
	if status, done = set.Parse(args, stdout, stderr); done {
		return status, true
	}
	if f.version {
		fmt.Fprintln(stdout, program, Version)
		return ExitOK, true
	}
	return ExitOK, false
}

// PrintItems prints the configuration as -p and, with importantOnly, -m do.
func PrintItems(w io.Writer, target any, importantOnly bool) int {
	if err := conf.Print(w, ItemPrefix(clock.Real{}), target, importantOnly); err != nil {
		return ExitFailed
	}
	return ExitOK
}

// Fail prints err and returns status.
func Fail(w io.Writer, err error, status int) int {
	fmt.Fprintln(w, err)
	return status
}

// FailConfig prints why there is no usable configuration and returns RocketMQ's exit status for it.
func FailConfig(w io.Writer, err error) int {
	if errors.Is(err, ErrRefused) || errors.Is(err, conf.ErrNamesrvAddr) || errors.Is(err, conf.ErrBrokerRole) {
		return Fail(w, err, ExitBadConfig)
	}
	return Fail(w, err, ExitFailed)
}

// Address is host with the port of a.
func Address(host string, a net.Addr) string {
	_, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return net.JoinHostPort(host, port)
}
