package mqadmin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// Words of Java's stack traces that scripts look for.
const (
	classSubCommand = "org.apache.rocketmq.tools.command.SubCommandException"
	classRuntime    = "java.lang.RuntimeException"
	classBroker     = "org.apache.rocketmq.client.exception.MQBrokerException"
	classClient     = "org.apache.rocketmq.client.exception.MQClientException"
	classConnect    = "org.apache.rocketmq.remoting.exception.RemotingConnectException"
	classTimeout    = "org.apache.rocketmq.remoting.exception.RemotingTimeoutException"

	moreInformation = "\nFor more information, please visit the url, https://rocketmq.apache.org/docs/bestPractice/06FAQ"
)

// javaError is an error that Java's tool would have thrown itself: its class and text.
type javaError struct{ class, text string }

func (e *javaError) Error() string { return e.text }

// clientError is a refusal that the tool itself made, in the words of Java's client.
func clientError(code protocol.ResponseCode, text string) error {
	return &javaError{class: classClient, text: withAdvice(fmt.Sprintf("CODE: %d  DESC: %s", code, text))}
}

func withAdvice(text string) string {
	if strings.Contains(text, "\nSee ") {
		return text
	}
	return text + moreInformation
}

// exceptionText is the line, or lines, that Java's trace of err would begin with.
func exceptionText(err error) string {
	var (
		je      *javaError
		refused *admin.Error
		conn    *admin.ConnectError
		timeout *admin.TimeoutError
	)
	switch {
	case errors.As(err, &je):
		return je.class + ": " + je.text
	case errors.As(err, &refused):
		return refusalText(refused)
	case errors.As(err, &timeout):
		return fmt.Sprintf("%s: wait response on the channel <%s> timeout, %d(ms)", classTimeout, timeout.Addr, timeout.After.Milliseconds())
	case errors.As(err, &conn):
		return fmt.Sprintf("%s: connect to %s failed", classConnect, conn.Addr)
	}
	return classRuntime + ": " + err.Error()
}

func refusalText(e *admin.Error) string {
	text := fmt.Sprintf("CODE: %d  DESC: %s", e.Code, e.Remark)
	if clientSide(e.Request) {
		return classClient + ": " + withAdvice(text)
	}
	if e.Addr != "" {
		text += " BROKER: " + e.Addr
	}
	return classBroker + ": " + withAdvice(text)
}

// clientSide reports whether Java's client wraps a refusal of this request as its own exception, which does not name the server.
func clientSide(code protocol.RequestCode) bool {
	switch code {
	case protocol.ReqGetRouteInfoByTopic, protocol.ReqGetAllTopicListFromNameServer, protocol.ReqUpdateAndCreateTopic,
		protocol.ReqUpdateAndCreateTopicList, protocol.ReqUpdateAndCreateSubscriptionGroup, protocol.ReqUpdateAndCreateSubscriptionGroupList,
		protocol.ReqDeleteSubscriptionGroup, protocol.ReqDeleteTopicInBroker, protocol.ReqDeleteTopicInNamesrv, protocol.ReqQueryConsumeQueue,
		protocol.ReqPutKVConfig, protocol.ReqGetKVConfig, protocol.ReqDeleteKVConfig, protocol.ReqWipeWritePermOfBroker,
		protocol.ReqAddWritePermOfBroker, protocol.ReqUpdateNamesrvConfig, protocol.ReqGetNamesrvConfig,
		protocol.ReqInvokeBrokerToResetOffset, protocol.ReqCleanExpiredConsumeQueue, protocol.ReqCleanUnusedTopic,
		protocol.ReqDeleteExpiredCommitLog, protocol.ReqViewBrokerStatsData, protocol.ReqGetBrokerConsumeStats:
		return true
	}
	return false
}

// advice is one line on what to do about err, "" when its own text says enough.
func advice(err error) string {
	var conn *admin.ConnectError
	if errors.As(err, &conn) {
		if conn.Addr == "" {
			return "no NameServer is given: use -n HOST:9876 or set NAMESRV_ADDR"
		}
		return "is the server running, and is " + conn.Addr + " its address? " + conn.Err.Error()
	}
	return ""
}

// trace prints an error that the command survives, as Java prints one that it caught, and remembers it for --strict.
func (c *call) trace(err error) {
	c.failed = true
	c.flush()
	fmt.Fprintln(c.env.Stderr, exceptionText(err))
}

// warn tells of something that the command does not do, though it was asked to.
func (c *call) warn(text string) {
	c.flush()
	fmt.Fprintln(c.env.Stderr, "mqadmin: "+text)
}

// traceFatal prints the error that ended the command.
func (c *call) traceFatal(err error) {
	c.failed = true
	c.flush()
	class, text := classSubCommand, c.cmd.class+" command failed"
	if c.cmd.failClass != "" {
		class = c.cmd.failClass
	}
	if c.cmd.failText != "" {
		text = c.cmd.class + c.cmd.failText
	}
	var bare *bareError
	if errors.As(err, &bare) {
		fmt.Fprintln(c.env.Stderr, exceptionText(bare.err))
	} else {
		fmt.Fprintf(c.env.Stderr, "%s: %s\nCaused by: %s\n", class, text, exceptionText(err))
	}
	if a := advice(err); a != "" {
		fmt.Fprintln(c.env.Stderr, "Hint: "+a)
	}
}

// bareError is an error that Java prints without naming the command.
type bareError struct{ err error }

func (e *bareError) Error() string { return e.err.Error() }
func (e *bareError) Unwrap() error { return e.err }

// refusalShort is a refusal without Java's advice.
func refusalShort(err error) string {
	var refused *admin.Error
	if errors.As(err, &refused) {
		return fmt.Sprintf("CODE:%d DESC:%s", refused.Code, refused.Remark)
	}
	return err.Error()
}
