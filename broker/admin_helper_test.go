package broker_test

import (
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// relayAnswer is what a fake client says to a relayed request. The first is not clean JSON, as the Go client's.
func relayAnswer(req *protocol.Command) *remoting.Reply {
	switch protocol.RequestCode(req.Code) {
	case protocol.ReqGetConsumerRunningInfo:
		stack := ""
		if v, _ := req.Ext.Get("jstackEnable"); v == "true" {
			stack = `"jstack":"main",`
		}
		return &remoting.Reply{Body: []byte(`{` + stack + `"mqPopTable":{},"mqTable":{{"brokerName":"b","queueId":0,"topic":"T"}:{"cachedMsgCount":0,"cachedMsgMaxOffset":0,` +
			`"cachedMsgMinOffset":0,"cachedMsgSizeInMiB":0,"commitOffset":1,"droped":false,"lastConsumeTimestamp":1,"lastLockTimestamp":1,"lastPullTimestamp":1,` +
			`"locked":true,"transactionMsgCount":0,"transactionMsgMaxOffset":0,"transactionMsgMinOffset":0,"tryUnlockTimes":0}},"properties":{"a":"b"},` +
			`"statusTable":{},"subscriptionSet":[],"userConsumerInfo":{}}`)}
	case protocol.ReqConsumeMessageDirectly:
		return &remoting.Reply{Body: []byte(`{"autoCommit":true,"consumeResult":"CR_SUCCESS","order":false,"spentTimeMills":1}`)}
	case protocol.ReqGetConsumerStatusFromClient:
		return &remoting.Reply{Body: []byte(`{"consumerTable":{},"messageQueueTable":{{"brokerName":"b","queueId":0,"topic":"AdminTopic"}:5}}`)}
	}
	return &remoting.Reply{Code: protocol.RespSystemError, Remark: "what?"}
}
