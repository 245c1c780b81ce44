// Command gopeer is one push consumer of the stock Go client in a process of its own, which a test can stop or kill. Arguments are
// key=value; see peer_test.go for the keys and for what it prints, which is the same as java/Peer.java prints.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

var out sync.Mutex

func say(format string, a ...any) {
	out.Lock()
	defer out.Unlock()
	fmt.Printf(format+"\n", a...)
}

func main() {
	rlog.SetLogLevel("fatal")
	args := map[string]string{}
	for _, a := range os.Args[1:] {
		k, v, _ := strings.Cut(a, "=")
		args[k] = v
	}
	if err := consume(args); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func consume(args map[string]string) error {
	number := func(key string) int { n, _ := strconv.Atoi(args[key]); return n }
	o := []consumer.Option{consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{args["ns"]})), consumer.WithGroupName(args["group"]),
		consumer.WithInstance(args["instance"]), consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset), consumer.WithConsumeGoroutineNums(8)}
	if ns := args["namespace"]; ns != "" {
		o = append(o, consumer.WithNamespace(ns))
	}
	if n := number("reconsume"); n > 0 {
		o = append(o, consumer.WithMaxReconsumeTimes(int32(n)))
	}
	if args["mode"] == "orderly" {
		o = append(o, consumer.WithConsumerOrder(true), consumer.WithSuspendCurrentQueueTimeMillis(100*time.Millisecond),
			consumer.WithRebalanceLockInterval(4*time.Second)) // it is how long others wait for a queue that it lost
	}
	c, err := rocketmq.NewPushConsumer(o...)
	if err != nil {
		return err
	}
	work, every := time.Duration(number("work"))*time.Millisecond, int64(number("suspend"))
	handle := func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			time.Sleep(work)
			no := strings.Contains(string(m.Body), "poison") || every > 0 && m.ReconsumeTimes < 2 && m.QueueOffset%every == 3
			kind := "M"
			if no {
				kind = "S"
			}
			say("%s %d %d %d %d %s %s", kind, time.Now().UnixMicro(), m.Queue.QueueId, m.QueueOffset, m.ReconsumeTimes, m.Topic, m.Body)
			switch {
			case no && args["mode"] == "orderly":
				return consumer.SuspendCurrentQueueAMoment, nil
			case no:
				return consumer.ConsumeRetryLater, nil
			}
		}
		return consumer.ConsumeSuccess, nil
	}
	if err := c.Subscribe(args["topic"], consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}, handle); err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	say("READY")
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	err = c.Shutdown()
	say("BYE")
	return err
}
