package mqadmin

import (
	"fmt"
	"net/netip"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// hostText is Java's text of a socket address.
func hostText(a netip.AddrPort) string { return "/" + a.String() }

// messageText is MessageExt.toString.
func messageText(m *admin.Message) string {
	return fmt.Sprintf("MessageExt [brokerName=%s, queueId=%d, storeSize=%d, queueOffset=%d, sysFlag=%d, bornTimestamp=%d, bornHost=%s, "+
		"storeTimestamp=%d, storeHost=%s, msgId=%s, commitLogOffset=%d, bodyCRC=%d, reconsumeTimes=%d, preparedTransactionOffset=%d, "+
		"toString()=Message{topic='%s', flag=%d, properties=%s, body=%s, transactionId='%s'}]",
		javaString(m.BrokerName), m.QueueID, m.StoreSize, m.QueueOffset, m.SysFlag, m.BornTimestamp, hostText(m.BornHost),
		m.StoreTimestamp, hostText(m.StoreHost), m.OffsetID(), m.CommitLogOffset, m.BodyCRC, m.ReconsumeTimes, m.PreparedTransactionOffset,
		m.Topic, m.Flag, javaMap(m.Properties), javaBytes(m.Body), javaString(m.Properties[protocol.PropertyTransactionID]))
}

// printMessage is the line of a message in printMsg and its relatives.
func printMessage(c *call, m *admin.Message, charset string, withBody bool) error {
	body := "NOT PRINT BODY"
	if withBody {
		var err error
		if body, err = decodeText(m.Body, charset); err != nil {
			return err
		}
	}
	c.printf("MSGID: %s %s BODY: %s\n", m.ID(), messageText(m), body)
	return nil
}

func sendResultText(r *admin.SendResult) string {
	return fmt.Sprintf("SendResult [sendStatus=%s, msgId=%s, offsetMsgId=%s, messageQueue=%s, queueOffset=%d, recallHandle=null]",
		r.Status, r.ID, r.OffsetID, r.Queue, r.QueueOffset)
}

func trackText(t admin.Track) string {
	desc := "null"
	if t.Err != nil {
		desc = exceptionText(t.Err)
		if t.Type == admin.TrackNotOnline {
			desc = refusalShort(t.Err)
		}
	}
	return fmt.Sprintf("MessageTrack [consumerGroup=%s, trackType=%s, exceptionDesc=%s]", t.Group, t.Type, desc)
}

func directText(r *protocol.ConsumeMessageDirectlyResult) string {
	return fmt.Sprintf("ConsumeMessageDirectlyResult [order=%t, autoCommit=%t, consumeResult=%s, remark=%s, spentTimeMills=%d]",
		r.Order, r.AutoCommit, r.ConsumeResult, javaString(r.Remark), r.SpentTimeMillis)
}
