package store

import (
	"github.com/seedmq/seedmq/remoting/protocol"
)

// IsInnerBatch says that a record holds several messages, which clients since 5.0 take apart.
func IsInnerBatch(sysFlag int32) bool { return sysFlag&protocol.SysFlagInnerBatch != 0 }

// EachInner calls fn for the messages of an inner batch, until it returns false. i counts from 0: the message's queue
// offset is v.QueueOffset + i. The error is a *protocol.BatchError, when the body is no batch.
func EachInner(v *protocol.MessageView, fn func(m *protocol.BatchEntry, i int) bool) error {
	r := protocol.NewBatchReader(v.Body)
	var m protocol.BatchEntry
	for i := 0; r.Next(&m); i++ {
		if !fn(&m, i) {
			return nil
		}
	}
	return r.Err()
}

// AppendInner appends message i of the inner batch v as a record of its own, as clients make it from the batch: host, times
// and position are the batch's.
func AppendInner(dst []byte, v *protocol.MessageView, m *protocol.BatchEntry, i int) []byte {
	f := protocol.FieldsOf(v)
	f.SysFlag &^= protocol.SysFlagInnerBatch | protocol.SysFlagNeedUnwrap
	f.Flag, f.Body, f.Properties = m.Flag, m.Body, m.Properties
	f.QueueOffset += int64(i)
	return protocol.AppendRecord(dst, &f)
}
